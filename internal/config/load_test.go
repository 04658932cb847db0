package config_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/objectstore"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

var (
	serverKey    = strings.Repeat("5e", 32)
	operatorKey  = "hf_" + strings.Repeat("0a", 16) + "_" + strings.Repeat("S", 42) + "Q"
	secondKey    = "hf_" + strings.Repeat("0b", 16) + "_" + strings.Repeat("S", 42) + "Q"
	sameSecrets  = cmp.AllowUnexported(config.Secret{})
	sameElements = cmp.Options{cmpopts.EquateEmpty(), cmpopts.EquateComparable(netip.Prefix{})}
)

func TestLoad_DevelopmentNeedsLittle(t *testing.T) {
	t.Parallel()
	got, err := config.Load(config.API, []string{
		"HOLDFAST_ENVIRONMENT=development",
		"HOLDFAST_CONTROL_URL=postgres://127.0.0.1:5432/holdfast",
		"HOLDFAST_API_PASSWORD=api-secret",
		"HOLDFAST_SERVER_KEYS=dev1:" + serverKey,
	})
	if err != nil {
		t.Fatal(err)
	}
	want := config.Config{
		Process:        config.API,
		Environment:    config.Development,
		ControlURL:     "postgres://127.0.0.1:5432/holdfast",
		DataURLs:       []postgres.Location{{Name: "main", URL: "postgres://127.0.0.1:5432/holdfast"}},
		Placement:      postgres.PlaceAll("main"),
		PoolSize:       max(4, 4*runtime.NumCPU()),
		APIPassword:    config.NewSecret("api-secret"),
		ServerKeys:     []config.ServerKey{{ID: "dev1", Key: config.NewSecret(strings.Repeat("\x5e", 32))}},
		APIAddress:     "127.0.0.1:8080",
		MetricsAddress: "127.0.0.1:9090",
		Issuer:         "http://127.0.0.1:8080",
		Drain:          20 * time.Second,
		LogLevel:       slog.LevelInfo,
	}
	if diff := cmp.Diff(want, got, sameSecrets, sameElements); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
}

func TestLoad_ProductionWithEverything(t *testing.T) {
	t.Parallel()
	got, err := config.Load(config.API, full("HOLDFAST_METRICS_ADDRESS="))
	if err != nil {
		t.Fatal(err)
	}
	want := config.Config{
		Process:     config.API,
		Environment: config.Production,
		ControlURL:  "postgres://control.example/holdfast?sslmode=verify-full",
		DataURLs: []postgres.Location{
			{Name: "data1", URL: "postgres://one.example/holdfast"},
			{Name: "data2", URL: "postgres://two.example:5433/holdfast"},
		},
		Placement:   postgres.Spread("data1", "data2"),
		PoolSize:    12,
		Pooler:      true,
		APIPassword: config.NewSecret("api-secret"),
		Bodies: config.Bodies{
			Endpoint: "https://bodies.example", Bucket: "holdfast", Region: "eu-central-1",
			AccessKeyID: config.NewSecret("bodies-key"), SecretAccessKey: config.NewSecret("bodies-secret"),
		},
		ServerKeys: []config.ServerKey{
			{ID: "k2", Key: config.NewSecret(strings.Repeat("\x5e", 32))},
			{ID: "k1", Key: config.NewSecret(strings.Repeat("\x11", 32))},
		},
		OperatorKey: config.NewSecret(operatorKey),
		APIAddress:  "0.0.0.0:80",
		Proxies:     []netip.Prefix{netip.MustParsePrefix("10.0.0.0/16"), netip.MustParsePrefix("fd00::/8")},
		Issuer:      "https://holdfast.example",
		Drain:       0,
		LogLevel:    slog.LevelDebug,
	}
	if diff := cmp.Diff(want, got, sameSecrets, sameElements); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
}

// full is an environment that has everything for all processes, with entries
// in place of those of the same names.
func full(entries ...string) []string {
	return append([]string{
		"PATH=/bin",
		"HOLDFAST_CONTROL_URL=postgres://control.example/holdfast?sslmode=verify-full",
		"HOLDFAST_DATA_URLS=data1=postgres://one.example/holdfast  data2=postgres://two.example:5433/holdfast",
		"HOLDFAST_PLACEMENT=data1=0-30,31 data2=32-63",
		"HOLDFAST_POOL_SIZE=12",
		"HOLDFAST_POOLER=transaction",
		"HOLDFAST_OWNER_PASSWORD=owner-secret",
		"HOLDFAST_API_PASSWORD=api-secret",
		"HOLDFAST_WORKER_PASSWORD=worker-secret",
		"HOLDFAST_BODIES_ENDPOINT=https://bodies.example",
		"HOLDFAST_BODIES_BUCKET=holdfast",
		"HOLDFAST_BODIES_STYLE=host",
		"AWS_REGION=eu-central-1",
		"AWS_ACCESS_KEY_ID=bodies-key",
		"AWS_SECRET_ACCESS_KEY=bodies-secret",
		"HOLDFAST_SERVER_KEYS=k2:" + serverKey + " k1:" + strings.Repeat("11", 32),
		"HOLDFAST_OPERATOR_KEY=" + operatorKey,
		"HOLDFAST_API_ADDRESS=0.0.0.0:80",
		"HOLDFAST_PROXIES=10.0.0.0/16 fd00::/8",
		"HOLDFAST_ISSUER=https://holdfast.example",
		"HOLDFAST_DRAIN_SECONDS=0",
		"HOLDFAST_LOG_LEVEL=debug",
	}, entries...)
}

func TestLoad_AProcessReadsOnlyItsOwn(t *testing.T) {
	t.Parallel()
	// What is wrong with the others' variables is no reason to stop.
	environ := full("HOLDFAST_POOLER=none", "HOLDFAST_ISSUER=nonsense", "HOLDFAST_OPERATOR_KEY=nonsense")
	tests := []struct {
		process config.Process
		want    postgres.Settings
	}{
		{config.Worker, postgres.Settings{Role: postgres.RoleWorker, Password: "worker-secret", PoolSize: 12}},
		{config.Schema, postgres.Settings{Role: postgres.RoleOwner, Password: "owner-secret", PoolSize: 4}},
		{config.Check, postgres.Settings{Role: postgres.RoleAPI, Password: "api-secret", PoolSize: 4}},
	}
	for _, test := range tests {
		c, err := config.Load(test.process, environ)
		if err != nil {
			t.Errorf("%s: %v", test.process, err)
			continue
		}
		got := c.Postgres()
		got.Control, got.Data, got.Placement = "", nil, postgres.Placement{}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s connects (-want +got):\n%s", test.process, diff)
		}
		if test.process == config.Worker && (!c.OwnerPassword.IsZero() || !c.APIPassword.IsZero()) {
			t.Error("the worker holds another role's password")
		}
	}
}

func TestLoad_TheCommandLineCallsAsTheFirstOperatorWithoutAKeyOfItsOwn(t *testing.T) {
	t.Parallel()
	want := config.Config{Process: config.CommandLine, URL: "http://127.0.0.1:8080", APIKey: config.NewSecret(operatorKey)}
	got, err := config.Load(config.CommandLine, full())
	if diff := cmp.Diff(want, got, sameSecrets); err != nil || diff != "" {
		t.Errorf("configuration: %v (-want +got):\n%s", err, diff)
	}
	want.URL, want.APIKey = "https://holdfast.example", config.NewSecret(secondKey)
	got, err = config.Load(config.CommandLine, full("HOLDFAST_URL=https://holdfast.example", "HOLDFAST_API_KEY="+secondKey))
	if diff := cmp.Diff(want, got, sameSecrets); err != nil || diff != "" {
		t.Errorf("configuration: %v (-want +got):\n%s", err, diff)
	}
}

func TestLoad_TellsEveryProblemAtOnce(t *testing.T) {
	t.Parallel()
	_, err := config.Load(config.API, []string{
		"HOLDFAST_ENVIRONMENT=live",
		"HOLDFAST_CONTROL_URL=postgres://holdfast_api:hunter2@db/holdfast",
		"HOLDFAST_DATA_URLS=data1=postgres://db/a data2=postgres://DB:5432/a data1=https://db/c postgres://u:hunter2@db/e?x=y",
		"HOLDFAST_PLACEMENT=data1=0-31,5 data2=32-62 data3=63",
		"HOLDFAST_POOL_SIZE=many",
		"HOLDFAST_POOLER=session",
		"HOLDFAST_API_PASSWORD=hunter2\n",
		"HOLDFAST_BODIES_ENDPOINT=http://hunter2@bodies.example",
		"HOLDFAST_BODIES_STYLE=vhost",
		"AWS_SECRET_ACCESS_KEY=hunter2",
		"HOLDFAST_SERVER_KEYS=k1:" + serverKey + " k1:" + serverKey + " hunter2",
		"HOLDFAST_OPERATOR_KEY=hunter2",
		"HOLDFAST_SECOND_OPERATOR_KEY=" + secondKey,
		"HOLDFAST_API_ADDRESS=8080",
		"HOLDFAST_METRICS_ADDRESS=localhost:http",
		"HOLDFAST_ISSUER=http://holdfast.example/",
		"HOLDFAST_DRAIN_SECONDS=-1",
		"HOLDFAST_LOG_LEVEL=loud",
	})
	if err == nil {
		t.Fatal("Load accepted it")
	}
	want := []string{
		`HOLDFAST_ENVIRONMENT: "live" is not one of development, staging, production`,
		`HOLDFAST_LOG_LEVEL: "loud" is not one of debug, info, warn, error`,
		`HOLDFAST_CONTROL_URL: must name no user and no password: the roles are fixed, and their passwords have variables of their own`,
		`HOLDFAST_DATA_URLS: data1 and data2 are the same database`,
		`HOLDFAST_DATA_URLS: data1 is named twice`,
		`HOLDFAST_DATA_URLS: data1 is not of the form postgres://HOST:PORT/NAME`,
		`HOLDFAST_DATA_URLS: entry 4 is not NAME=URL, with a name of lower-case letters, digits, - and _`,
		`HOLDFAST_PLACEMENT: number 5 is placed twice (data1, data1); "data3" is not one of the data databases (data1, data2, data1); numbers placed nowhere: 63`,
		`HOLDFAST_POOLER: "session" is not one of none, transaction`,
		`HOLDFAST_API_PASSWORD: has a character that is not printable ASCII`,
		`HOLDFAST_BODIES_ENDPOINT: is not a URL without user, query and fragment`,
		`HOLDFAST_BODIES_STYLE: "vhost" is not one of path, host`,
		`HOLDFAST_BODIES_BUCKET: is required with HOLDFAST_BODIES_ENDPOINT`,
		`AWS_ACCESS_KEY_ID: is required with HOLDFAST_BODIES_ENDPOINT`,
		`HOLDFAST_POOL_SIZE: "many" is not a whole number from 1 to 1000`,
		`HOLDFAST_DRAIN_SECONDS: "-1" is not a whole number from 0 to 300`,
		`HOLDFAST_METRICS_ADDRESS: "localhost:http" is not HOST:PORT`,
		`HOLDFAST_API_ADDRESS: "8080" is not HOST:PORT`,
		`HOLDFAST_ISSUER: is not a URL without user, query, fragment and trailing slash`,
		`HOLDFAST_SERVER_KEYS: entry 2 has the id of an earlier one`,
		`HOLDFAST_SERVER_KEYS: entry 3 is not ID:KEY, with an id of at most 32 lower-case letters, digits and -, and a key of 64 hexadecimal digits`,
		`HOLDFAST_OPERATOR_KEY: is not of the form hf_ID_SECRET, with an id of 32 hexadecimal digits and a secret of 43 base64url characters`,
		`HOLDFAST_SECOND_OPERATOR_KEY: is for development only: let the first operator make the second, who keeps a key of their own`,
	}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestLoad_TellsWhatIsMissing(t *testing.T) {
	t.Parallel()
	tests := map[config.Process][]string{
		config.API: {"HOLDFAST_CONTROL_URL: is required", "HOLDFAST_API_PASSWORD: is required",
			"HOLDFAST_ISSUER: is required", "HOLDFAST_SERVER_KEYS: is required"},
		config.Worker:      {"HOLDFAST_CONTROL_URL: is required", "HOLDFAST_WORKER_PASSWORD: is required", "HOLDFAST_SERVER_KEYS: is required"},
		config.Schema:      {"HOLDFAST_CONTROL_URL: is required", "HOLDFAST_OWNER_PASSWORD: is required"},
		config.Check:       {"HOLDFAST_CONTROL_URL: is required", "HOLDFAST_API_PASSWORD: is required"},
		config.CommandLine: {"HOLDFAST_API_KEY: is required"},
	}
	for process, want := range tests {
		_, err := config.Load(process, nil)
		if err == nil {
			t.Errorf("%s: Load accepted an empty environment", process)
			continue
		}
		lines := strings.Split(err.Error(), "\n")
		if len(lines) != len(want) {
			t.Errorf("%s: problems %q, want %q", process, lines, want)
			continue
		}
		for i, line := range lines {
			if !strings.HasPrefix(line, want[i]) {
				t.Errorf("%s: problem %q, want %q…", process, line, want[i])
			}
		}
	}
}

func TestLoad_APortThatTheSystemChooses_NeedsAnIssuer(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"127.0.0.1:0", ":0", "[::1]:00"} {
		environ := full("HOLDFAST_ENVIRONMENT=development", "HOLDFAST_API_ADDRESS="+address, "HOLDFAST_ISSUER=")
		_, err := config.Load(config.API, environ)
		if want := "HOLDFAST_ISSUER: is required when HOLDFAST_API_ADDRESS has port 0: the URL that clients know the API by"; err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", address, err, want)
		}
		c, err := config.Load(config.API, append(environ, "HOLDFAST_ISSUER=http://127.0.0.1:8080"))
		if err != nil || c.APIAddress != address || c.Issuer != "http://127.0.0.1:8080" {
			t.Errorf("%s with an issuer: %s, %v", address, c.Issuer, err)
		}
	}
}

func TestLoad_Refuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		process config.Process
		entry   string
		want    string
	}{
		"several databases without a placement": {config.API, "HOLDFAST_PLACEMENT=",
			"HOLDFAST_PLACEMENT: is required with several data databases: which of the numbers 0-63 lives on which of data1, data2"},
		"a password among the parameters": {config.API, "HOLDFAST_CONTROL_URL=postgres://db/a?password=hunter2",
			"HOLDFAST_CONTROL_URL: must name no user and no password: the roles are fixed, and their passwords have variables of their own"},
		"an sslmode that there is not": {config.API, "HOLDFAST_CONTROL_URL=postgres://db/a?sslmode=hunter2",
			"HOLDFAST_CONTROL_URL: has parameters that can't be used: a wrong sslmode, say, or a certificate's file that can't be read"},
		"plain http in production": {config.API, "HOLDFAST_ISSUER=http://holdfast.example",
			"HOLDFAST_ISSUER: must be https outside of development"},
		"an API key whose last bits are lost": {config.API, "HOLDFAST_OPERATOR_KEY=" + operatorKey[:len(operatorKey)-1] + "R",
			"HOLDFAST_OPERATOR_KEY: has a secret that is not base64url of 32 bytes"},
		"a pooler for the schema": {config.Schema, "HOLDFAST_POOLER=transaction",
			"HOLDFAST_POOLER: the schema needs direct connections: its lock is a session's, which a pooler shares. Give the databases' own URLs, and no pooler"},
		"a user in the API's URL": {config.CommandLine, "HOLDFAST_URL=https://hunter2@holdfast.example",
			"HOLDFAST_URL: is not an http or https URL without user, query and fragment"},
		"an object store over plain http": {config.Worker, "HOLDFAST_BODIES_ENDPOINT=http://bodies.example",
			"HOLDFAST_BODIES_ENDPOINT: must be https outside of development"},
		"no data database": {config.Worker, "HOLDFAST_DATA_URLS= ", "HOLDFAST_DATA_URLS: names no database"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := config.Load(test.process, full(test.entry))
			if err == nil || err.Error() != test.want {
				t.Errorf("problem:\n%v\nwant:\n%s", err, test.want)
			}
		})
	}
}

func TestLoad_AnObjectStoreIsWholeOrNone(t *testing.T) {
	t.Parallel()
	const all = "HOLDFAST_BODIES_ENDPOINT HOLDFAST_BODIES_BUCKET AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY"
	for _, test := range []struct{ unset, want string }{
		{"HOLDFAST_BODIES_ENDPOINT", "HOLDFAST_BODIES_ENDPOINT: is required with HOLDFAST_BODIES_BUCKET: the object store's https URL"},
		{"HOLDFAST_BODIES_BUCKET", "HOLDFAST_BODIES_BUCKET: is required with HOLDFAST_BODIES_ENDPOINT"},
		{"AWS_SECRET_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY: is required with HOLDFAST_BODIES_ENDPOINT"},
		{"HOLDFAST_BODIES_ENDPOINT HOLDFAST_BODIES_BUCKET", ""}, // AWS's own may be there for others
		{all, ""},
	} {
		environ := full()
		for _, name := range strings.Fields(test.unset) {
			environ = append(environ, name+"=")
		}
		for _, process := range []config.Process{config.API, config.Worker, config.Check} {
			c, err := config.Load(process, append(environ, "HOLDFAST_POOLER=none"))
			switch {
			case test.want != "" && (err == nil || err.Error() != test.want):
				t.Errorf("%s without %s: %v, want %s", process, test.unset, err, test.want)
			case test.want == "" && (err != nil || c.Bodies != (config.Bodies{})):
				t.Errorf("%s without %s: %v, want no object store", process, test.unset, err)
			}
		}
	}
}

func TestConfig_ReachesTheObjectStore(t *testing.T) {
	t.Parallel()
	want := objectstore.Settings{
		Endpoint: "http://127.0.0.1:9000", Bucket: "holdfast", Region: "auto", PathStyle: true,
		AccessKey: "bodies-key", SecretKey: "bodies-secret",
	}
	for _, process := range []config.Process{config.API, config.Worker, config.Check} {
		c, err := config.Load(process, full("HOLDFAST_ENVIRONMENT=development", "HOLDFAST_POOLER=none",
			"HOLDFAST_BODIES_ENDPOINT=http://127.0.0.1:9000", "HOLDFAST_BODIES_STYLE=", "AWS_REGION="))
		if err != nil {
			t.Fatal(err)
		}
		got, ok := c.ObjectStore()
		if diff := cmp.Diff(want, got); !ok || diff != "" {
			t.Errorf("%s (-want +got):\n%s", process, diff)
		}
	}
	c, err := config.Load(config.Schema, full("HOLDFAST_POOLER=none", "HOLDFAST_BODIES_STYLE=nonsense"))
	if _, ok := c.ObjectStore(); err != nil || ok {
		t.Errorf("the schema's commands reach the object store (%v)", err)
	}
}

func TestLoad_TwoOperatorsHoldTwoKeys(t *testing.T) {
	t.Parallel()
	environ := full("HOLDFAST_ENVIRONMENT=development", "HOLDFAST_SECOND_OPERATOR_KEY="+secondKey)
	if c, err := config.Load(config.API, environ); err != nil || c.SecondOperatorKey.Reveal() != secondKey {
		t.Errorf("two keys: %v", err)
	}
	_, err := config.Load(config.API, append(environ, "HOLDFAST_SECOND_OPERATOR_KEY="+operatorKey))
	if err == nil || !strings.Contains(err.Error(), "they must be two keys") {
		t.Errorf("the same key twice: %v, want a refusal", err)
	}
}

// Wrong words are where secrets leak: a start that fails prints them.
func TestLoad_ShowsNoSecret(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	for _, variable := range []string{
		"HOLDFAST_CONTROL_URL", "HOLDFAST_DATA_URLS", "HOLDFAST_OWNER_PASSWORD", "HOLDFAST_API_PASSWORD",
		"HOLDFAST_WORKER_PASSWORD", "HOLDFAST_SERVER_KEYS", "HOLDFAST_OPERATOR_KEY", "HOLDFAST_SECOND_OPERATOR_KEY",
		"HOLDFAST_BODIES_ENDPOINT", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "HOLDFAST_URL", "HOLDFAST_API_KEY",
	} {
		for _, form := range []string{"%s", "%s\x00", "postgres://u:%s@h/d", "postgres://%s:%%zz@h/d", "data1=postgres://u:%s@h/d", "k:%s", "hf_%s_x"} {
			for _, process := range []config.Process{config.API, config.Worker, config.Schema, config.Check, config.CommandLine} {
				_, err := config.Load(process, full(variable+"="+fmt.Sprintf(form, secret)))
				if err != nil && strings.Contains(err.Error(), secret) {
					t.Errorf("%s: %v", variable, err)
				}
			}
		}
	}
}

func TestConfig_NoFormattingShowsASecret(t *testing.T) {
	t.Parallel()
	for _, process := range []config.Process{config.API, config.Worker, config.Schema, config.Check, config.CommandLine} {
		c, err := config.Load(process, full("HOLDFAST_POOLER=none"))
		if err != nil {
			t.Fatal(err)
		}
		var log strings.Builder
		slog.New(slog.NewTextHandler(&log, nil)).Info("start", "config", c, "password", c.APIPassword)
		slog.New(slog.NewJSONHandler(&log, nil)).Info("start", "config", c, "password", c.APIPassword)
		asJSON, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		shown := log.String() + string(asJSON)
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			shown += fmt.Sprintf(verb, c) + fmt.Sprintf(verb, c.APIPassword)
		}
		for _, secret := range []string{"owner-secret", "api-secret", "worker-secret", "bodies-secret", serverKey, strings.Repeat("^", 32), operatorKey} {
			if strings.Contains(shown, secret) {
				t.Errorf("the %s's configuration shows %q", process, secret)
			}
		}
	}
}
