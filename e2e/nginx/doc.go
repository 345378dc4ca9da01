// Package nginx runs Debian's nginx as a TLS passthrough: one port, and brokers told apart by the name in the ClientHello.
package nginx
