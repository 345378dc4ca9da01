// Package fleet runs several clusters in one process: it owns which ones there are, starts and ends their managers, and replaces
// them when the configuration changes, without a moment in which a cluster is shown twice or not at all.
package fleet
