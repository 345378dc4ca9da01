// Package tansu runs Tansu, an implementation of Kafka's protocol in Rust, which "make tansu" builds into .cache/tansu.
package tansu
