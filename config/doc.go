// Package config holds what is said about a cluster: the one table of settings that flags, keys of the configuration file,
// their documentation and their validation are made from, and the way from a file to the clusters that it stands for. It
// reads files and does nothing else.
package config
