// Package gateway is a gateway as kafka-proxy is one: a port for each broker, whose address it writes into the answers that clients take
// addresses from, but for DescribeCluster.
package gateway
