// Package cluster runs real Apache Kafka on loopback for the length of a test: 4.4.0 and 3.9.2 in KRaft mode, every broker a
// controller too, and 2.3.1 with ZooKeeper.
//
// Jars come from Maven Central by way of the pom files in poms/, once, into a cache folder. Every broker listens on PLAINTEXT, by which the
// brokers also speak to each other, and on whatever listeners the test asks for.
package cluster
