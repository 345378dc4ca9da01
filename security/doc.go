// Package security holds what a connection needs to be let in: TLS material and SASL credentials. Everything that lies in
// a file is read again for each new connection, so that it may be rotated while the process runs. No secret appears in an
// error, in a String method or in the printed form of a value of this package.
package security
