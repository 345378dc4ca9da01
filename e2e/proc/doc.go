// Package proc starts child processes that cannot outlive the test that started them.
package proc
