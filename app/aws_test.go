package app

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kafka_connection_exporter/wire/wiretest"
)

// requireIAM makes a broker demand what AWS documents for AWS_MSK_IAM: one JSON object with a signed request, from this
// access key; the answer is a JSON object too.
func requireIAM(t *testing.T, b *wiretest.Broker, accessKey string) {
	b.On(kmsg.SASLHandshake, func(r wiretest.Request) (kmsg.Response, error) {
		resp := r.ResponseKind().(*kmsg.SASLHandshakeResponse)
		if m := r.Request.(*kmsg.SASLHandshakeRequest).Mechanism; m != "AWS_MSK_IAM" {
			t.Errorf("the mechanism is %s", m)
		}
		return resp, nil
	})
	b.On(kmsg.SASLAuthenticate, func(r wiretest.Request) (kmsg.Response, error) {
		resp := r.ResponseKind().(*kmsg.SASLAuthenticateResponse)
		var signed map[string]string
		if err := json.Unmarshal(r.Request.(*kmsg.SASLAuthenticateRequest).SASLAuthBytes, &signed); err != nil {
			t.Errorf("no JSON object: %v", err)
		}
		for key, want := range map[string]string{
			"version": `2020_10_22`, "host": `127\.0\.0\.1`, "action": `kafka-cluster:Connect`, "x-amz-algorithm": `AWS4-HMAC-SHA256`,
			"x-amz-credential": `[A-Z]+/\d{8}/eu-central-1/kafka-cluster/aws4_request`, "x-amz-signature": `[0-9a-f]{64}`,
			"x-amz-date": `\d{8}T\d{6}Z`, "x-amz-security-token": `session`, "x-amz-signedheaders": `host`, "x-amz-expires": `\d+`,
		} {
			if !regexp.MustCompile("^" + want + "$").MatchString(signed[key]) {
				t.Errorf("%s is %q", key, signed[key])
			}
		}
		if !strings.HasPrefix(signed["x-amz-credential"], accessKey+"/") {
			resp.ErrorCode = kerr.SaslAuthenticationFailed.Code
			return resp, nil
		}
		resp.SASLAuthBytes = []byte(`{"version":"2020_10_22","request-id":"0"}`)
		return resp, nil
	})
}

// TestMSKIAM is all that can be tested without AWS: the exchange, from the default credential chain to the broker's verdict.
func TestMSKIAM(t *testing.T) {
	const secret = "marker-of-the-secret-key"
	for key, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "AKIDGOOD", "AWS_SECRET_ACCESS_KEY": secret, "AWS_SESSION_TOKEN": "session", "AWS_REGION": "eu-central-1",
		"AWS_CONFIG_FILE": "/nowhere", "AWS_SHARED_CREDENTIALS_FILE": "/nowhere", "AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(key, value)
	}
	for accessKey, want := range map[string]string{
		"AKIDGOOD":  `kafka_connection_broker_reachable{broker_id="0",kafka_cluster=""} 1`,
		"AKIDOTHER": `kafka_connection_seed_failing{kafka_cluster="",phase="sasl",reason="credentials_rejected",seed="`,
	} {
		c := newCluster(t, 1)
		requireIAM(t, c.brokers[0], accessKey)
		if strings.HasSuffix(want, `seed="`) {
			want += c.addrs[0] + `"} 1`
		}
		p := start(t, "--kafka.seed="+c.addrs[0], "--sasl.mechanism=aws-msk-iam", "--log.level=debug")
		if metrics := p.wait(want); strings.Contains(metrics+p.log.String(), secret) {
			t.Error("the secret is in the metrics or in the log")
		}
	}
}
