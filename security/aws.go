package security

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/aws"
)

// iam is Amazon's own mechanism, with the credentials that the environment, the shared files, the container or the
// machine offers. The region is read from the host's name, else from AWS_REGION.
type iam struct {
	keys *cached[awssdk.Credentials]
}

func newAWS() source { return iam{keys: newCached[awssdk.Credentials]()} }

// check has nothing to do: any link of the chain may do without a file.
func (iam) check() error { return nil }

func (iam) files() []string {
	shared := os.Getenv("AWS_SHARED_CREDENTIALS_FILE")
	if home, err := os.UserHomeDir(); err == nil && shared == "" {
		shared = filepath.Join(home, ".aws", "credentials")
	}
	var all []string
	for _, path := range []string{shared, os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE"), os.Getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")} {
		if path != "" {
			all = append(all, path)
		}
	}
	return all
}

func (i iam) mechanism(ctx context.Context) (sasl.Mechanism, error) {
	keys, err := i.keys.get(ctx, versions(i.files()), retrieve)
	if err != nil {
		return nil, err
	}
	auth := aws.Auth{
		AccessKey:    keys.AccessKeyID,
		SecretKey:    keys.SecretAccessKey,
		SessionToken: keys.SessionToken,
		UserAgent:    "kafka_connection_exporter",
	}
	return auth.AsManagedStreamingIAMMechanism(), nil
}

// retrieve walks down the chain anew, because the SDK keeps what it read from a file for ever.
func retrieve(ctx context.Context) obtained[awssdk.Credentials] {
	plain := awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) { t.DisableKeepAlives = true })
	conf, err := config.LoadDefaultConfig(ctx, config.WithHTTPClient(plain))
	if err != nil {
		return obtained[awssdk.Credentials]{err: errors.New(oneLineOf(err.Error())), hold: shortHold}
	}
	keys, err := conf.Credentials.Retrieve(ctx)
	if err != nil {
		return obtained[awssdk.Credentials]{err: errors.New(oneLineOf(err.Error())), hold: shortHold}
	}
	var expiry time.Time
	if keys.CanExpire {
		expiry = keys.Expires
	}
	return obtained[awssdk.Credentials]{value: keys, expiry: expiry}
}
