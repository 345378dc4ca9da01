// Package kerberos runs MIT's krb5kdc as a child of the test.
package kerberos
