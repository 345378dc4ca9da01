// Package wire is one connection to one Kafka broker: its phases (resolve, dial, TLS, ApiVersions, SASL, identity), the
// framing, the versions, the requests on it, and one typed error that says where and why it failed. It knows no policy,
// no metrics and no second connection.
package wire
