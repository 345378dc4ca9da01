package lab

// fault is one case of the catalogue. The numbers are those of a collection of public field reports; it has holes.
type fault struct {
	id    string
	title string
}

var catalogue = []fault{
	{"C01", "No seed answers when the exporter starts"},
	{"C02", "One broker that hangs blocks the scrape"},
	{"C03", "The seed is fine, the advertised address is not"},
	{"C04", "A connection that was cut, or that drops everything, is used for ever"},
	{"C05", "An old connection hides a broker that accepts no new ones"},
	{"C06", "A dead broker leaves the metadata and its series vanish, or the count never falls"},
	{"C07", "Another broker answers at the address"},
	{"C08", "Another cluster answers at a seed"},
	{"C09", "An expired certificate, hidden by sessions that are older"},
	{"C10", "One entry that is wrong takes the whole list away"},
	{"C11", "A TLS handshake that the peer never answers"},
	{"C12", "Dead seeds are tried one after another"},
	{"C13", "Every refresh goes to the same dead broker"},
	{"C14", "All brokers are replaced and nobody goes back to the seeds"},
	{"C15", "An empty answer wipes the list of brokers"},
	{"C16", "The port accepts, Kafka does not answer"},
	{"C18", "Several ids behind one address, one host with several ports"},
	{"C19", "The first address of a name is dead"},
	{"C20", "IPv6 and IPv4 of a name are not equally good"},
	{"C22", "The list flaps with the broker that happens to answer"},
	{"C23", "A fenced broker, or a zombie beside its replacement"},
	{"C24", "The broker is older or newer than the client thinks"},
	{"C25", "A wrong password is tried without end"},
	{"C26", "Reconnects without a pause"},
	{"C27", "Sockets and descriptors leak"},
	{"C28", "Memory or goroutines grow while connections fail"},
	{"C30", "The cause is swallowed: all that is left is EOF"},
	{"C31", "Plaintext meets TLS, or HTTP"},
	{"C32", "A missing client certificate shows only after the handshake"},
	{"C33", "The certificate does not fit the advertised name"},
	{"C35", "Sessions and tokens run out"},
	{"C37", "Passwords in the process list and in the log"},
	{"C40", "Metadata of a huge cluster"},
	{"C41", "An advertised address that must not be dialed"},
	{"C42", "Connections come and go with the scrapes"},
	{"C43", "The exporter floods its own log"},
	{"C44", "The exporter floods the brokers' logs"},
	{"C49", "A seed and its broker are two connections for ever"},
	{"C50", "A gateway rewrites Metadata and not DescribeCluster"},
	{"C51", "UNSUPPORTED_VERSION with a body that is not version 0"},
	{"C52", "A broker hangs up on a version of ApiVersions that it does not know"},
	{"C53", "Only the newest ApiVersions makes a broker hang up"},
}
