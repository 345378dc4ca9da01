// Package pki makes the certificates of a test: authorities, and leaves with any name and any end date.
package pki
