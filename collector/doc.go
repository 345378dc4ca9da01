// Package collector turns a manager's snapshot into metrics. Every family is one entry of the table in table.go. A scrape
// reads memory only: it dials nothing, looks nothing up and waits for nobody who does.
package collector
