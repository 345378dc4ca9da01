// Package oauth signs tokens for Kafka's OAUTHBEARER: a key, its JWKS file for the broker, and a token endpoint for the client.
package oauth
