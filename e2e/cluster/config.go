//go:build e2e

package cluster

import (
	"fmt"
	"strconv"
	"strings"

	"kafka_connection_exporter/e2e/oauth"
)

const controllerListener = "CONTROLLER"

// common is what brokers of all versions get: small, and quick to notice a death.
func (c *Cluster) common(b *Broker) properties {
	return properties{
		"log.dirs":                                 b.dataDir(),
		"broker.rack":                              b.Rack(),
		"inter.broker.listener.name":               Plaintext,
		"num.network.threads":                      "1",
		"num.io.threads":                           "2",
		"background.threads":                       "1",
		"num.recovery.threads.per.data.dir":        "1",
		"log.cleaner.enable":                       "false",
		"offsets.topic.num.partitions":             "1",
		"offsets.topic.replication.factor":         "1",
		"transaction.state.log.num.partitions":     "1",
		"transaction.state.log.replication.factor": "1",
		"transaction.state.log.min.isr":            "1",
		"auto.create.topics.enable":                "false",
		"controlled.shutdown.enable":               "true",
	}
}

// brokerProperties is the whole server.properties of one broker.
func (c *Cluster) brokerProperties(b *Broker) (properties, error) {
	p := c.common(b)
	if c.opts.Version == V23 {
		p.merge(c.zookeeperProperties(b))
	} else {
		p.merge(c.kraftProperties(b))
	}
	c.addListeners(p, b)
	for _, l := range c.opts.Listeners {
		if err := c.addListener(p, b, l); err != nil {
			return nil, err
		}
	}
	if c.opts.Authorizer {
		p["authorizer.class.name"] = authorizer(c.opts.Version)
		p["super.users"] = "User:ANONYMOUS"
	}
	p.merge(c.opts.Config)
	if c.opts.BrokerConfig != nil {
		p.merge(c.opts.BrokerConfig(b.ID))
	}
	return p, nil
}

// addListeners names the listeners and their addresses.
func (c *Cluster) addListeners(p properties, b *Broker) {
	var bound, advertised, protocols []string
	for _, l := range c.opts.Listeners {
		bound = append(bound, l.Name+"://"+b.Addr(l.Name))
		advertised = append(advertised, l.Name+"://"+b.Advertised(l.Name))
		protocols = append(protocols, l.Name+":"+l.Protocol)
	}
	if c.opts.Version != V23 {
		bound = append(bound, controllerListener+"://"+b.Addr(controllerListener))
		protocols = append(protocols, controllerListener+":PLAINTEXT")
	}
	p["listeners"] = strings.Join(bound, ",")
	p["advertised.listeners"] = strings.Join(advertised, ",")
	p["listener.security.protocol.map"] = strings.Join(protocols, ",")
}

// addListener configures TLS and SASL of one listener.
func (c *Cluster) addListener(p properties, b *Broker, l Listener) error {
	prefix := "listener.name." + strings.ToLower(l.Name) + "."
	if l.tls() {
		if err := c.issue(b, l); err != nil {
			return err
		}
		p[prefix+"ssl.keystore.type"] = "PEM"
		p[prefix+"ssl.keystore.location"] = b.keystore(l.Name)
		p[prefix+"ssl.truststore.type"] = "PEM"
		p[prefix+"ssl.truststore.location"] = c.CAFile
		p[prefix+"ssl.client.auth"] = "none"
		if l.ClientAuth {
			p[prefix+"ssl.client.auth"] = "required"
		}
	}
	if l.sasl() {
		p[prefix+"sasl.enabled.mechanisms"] = strings.Join(l.Mechanisms, ",")
	}
	for _, mechanism := range l.Mechanisms {
		more, err := c.saslProperties(mechanism)
		if err != nil {
			return fmt.Errorf("listener %s: %w", l.Name, err)
		}
		for key, value := range more {
			p[prefix+key] = value
		}
	}
	for key, value := range l.Config {
		p[prefix+key] = value
	}
	return nil
}

// saslProperties is what a mechanism needs, without the prefix of the listener.
func (c *Cluster) saslProperties(mechanism string) (map[string]string, error) {
	own := strings.ToLower(mechanism) + "."
	switch mechanism {
	case Plain:
		return map[string]string{own + "sasl.jaas.config": plainLogin(c.opts.Users)}, nil
	case SCRAM256, SCRAM512:
		return map[string]string{own + "sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required;"}, nil
	case OAuthBearer:
		return map[string]string{
			own + "sasl.jaas.config":                   "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;",
			own + "sasl.server.callback.handler.class": "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler",
			"sasl.oauthbearer.jwks.endpoint.url":       "file://" + c.opts.OAuth.JWKSFile,
			"sasl.oauthbearer.expected.audience":       oauth.Audience,
			"sasl.oauthbearer.expected.issuer":         oauth.IssuerName,
		}, nil
	case GSSAPI:
		const principal = "kafka/localhost"
		keytab, err := c.opts.KDC.Keytab(principal)
		if err != nil {
			return nil, err
		}
		return map[string]string{
			own + "sasl.jaas.config":     kerberosLogin(keytab, principal),
			"sasl.kerberos.service.name": "kafka",
		}, nil
	}
	return nil, fmt.Errorf("unknown SASL mechanism %q", mechanism)
}

func authorizer(version string) string {
	if version == V23 {
		return "kafka.security.auth.SimpleAclAuthorizer"
	}
	return "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
}

func plainLogin(users []User) string {
	var b strings.Builder
	b.WriteString("org.apache.kafka.common.security.plain.PlainLoginModule required")
	for _, u := range users {
		fmt.Fprintf(&b, " user_%s=%s", u.Name, strconv.Quote(u.Password))
	}
	return b.String() + ";"
}

func kerberosLogin(keytab, principal string) string {
	return fmt.Sprintf("com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true doNotPrompt=true keyTab=%q principal=%q;",
		keytab, principal)
}
