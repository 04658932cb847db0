package config

import (
	"reflect"
	"slices"
	"strings"

	"github.com/caarlos0/env/v11"
)

// variables are the environment's words, before anything is made of them. The
// tags are the documentation: who reads a variable, the default ("default"
// where it is not a fixed text), and what it is for.
type variables struct {
	Environment string `env:"HOLDFAST_ENVIRONMENT" read:"api worker schema check" envDefault:"production" help:"\"development\", \"staging\" or \"production\""`

	ControlURL string `env:"HOLDFAST_CONTROL_URL" read:"api worker schema check" default:"required" help:"The control database: \"postgres://HOST:PORT/NAME\", without a user; parameters such as \"sslmode\" may follow"`
	DataURLs   string `env:"HOLDFAST_DATA_URLS" read:"api worker schema check" default:"\"main=\" and the control database" help:"The data databases: \"data1=postgres://… data2=postgres://…\""`
	Placement  string `env:"HOLDFAST_PLACEMENT" read:"api worker schema check" default:"all on the only data database" help:"Which of the numbers 0 to 63 lives on which data database: \"data1=0-31 data2=32-60,61,62-63\""`
	PoolSize   string `env:"HOLDFAST_POOL_SIZE" read:"api worker" default:"4 for each core" help:"Connections to each database"`
	Pooler     string `env:"HOLDFAST_POOLER" read:"api worker schema check" envDefault:"none" help:"\"transaction\" when a transaction-mode pooler such as pgbouncer stands before the databases; the schema needs direct connections"`

	OwnerPassword  string `env:"HOLDFAST_OWNER_PASSWORD" read:"schema" default:"required" help:"Of the role holdfast_owner, who owns the databases and may make roles"`
	APIPassword    string `env:"HOLDFAST_API_PASSWORD" read:"api schema check" default:"required by the API and by checks" help:"Of the role holdfast_api; \"schema up\" sets it when it is given"`
	WorkerPassword string `env:"HOLDFAST_WORKER_PASSWORD" read:"worker schema" default:"required by the worker" help:"Of the role holdfast_worker; \"schema up\" sets it when it is given"`

	BodiesEndpoint  string `env:"HOLDFAST_BODIES_ENDPOINT" read:"api worker check" default:"none: no object store" help:"The object store for bodies of storage format 2: R2's or S3's URL, https outside of development"`
	BodiesBucket    string `env:"HOLDFAST_BODIES_BUCKET" read:"api worker check" default:"required with the endpoint" help:"The bucket there"`
	BodiesStyle     string `env:"HOLDFAST_BODIES_STYLE" read:"api worker check" envDefault:"path" help:"Where requests name the bucket: in the \"path\", or in the name of the \"host\""`
	Region          string `env:"AWS_REGION" read:"api worker check" envDefault:"auto" help:"The region that requests are signed for; R2's is \"auto\""`
	AccessKeyID     string `env:"AWS_ACCESS_KEY_ID" read:"api worker check" default:"required with the endpoint" help:"The object store's key"`
	SecretAccessKey string `env:"AWS_SECRET_ACCESS_KEY" read:"api worker check" default:"required with the endpoint" help:"Its secret"`

	ServerKeys        string `env:"HOLDFAST_SERVER_KEYS" read:"api worker" default:"required" help:"The keys that secrets derive from: \"ID:KEY ID:KEY …\", each key 64 hexadecimal digits. The first is used; the others still verify"`
	OperatorKey       string `env:"HOLDFAST_OPERATOR_KEY" read:"api cli" default:"none" help:"The API key of the first operator, who is made when there is none yet: \"hf_ID_SECRET\""`
	SecondOperatorKey string `env:"HOLDFAST_SECOND_OPERATOR_KEY" read:"api" default:"none" help:"Likewise of a second operator; in development only, since one hand must not hold two persons' keys"`

	APIAddress     string `env:"HOLDFAST_API_ADDRESS" read:"api" default:"\"127.0.0.1:8080\" in development, else \":8080\"" help:"Where the API listens"`
	MetricsAddress string `env:"HOLDFAST_METRICS_ADDRESS" read:"api worker" default:"\"127.0.0.1:9090\", the worker's \"127.0.0.1:9091\"" help:"Where the private port listens, with the metrics; empty turns it off"`
	Proxies        string `env:"HOLDFAST_PROXIES" read:"api" default:"none" help:"The networks of the proxies in front, as \"10.0.0.0/16 10.1.0.0/16\", whose \"X-Forwarded-For\" tells where a request comes from; that is for the log and the audit log"`
	Issuer         string `env:"HOLDFAST_ISSUER" read:"api" default:"in development the API's address, unless that has port 0; else required" help:"The URL that tokens name as their issuer; https outside of development"`

	URL    string `env:"HOLDFAST_URL" read:"cli" envDefault:"http://127.0.0.1:8080" help:"The API that \"holdfast\" calls"`
	APIKey string `env:"HOLDFAST_API_KEY" read:"cli" default:"\"HOLDFAST_OPERATOR_KEY\"" help:"The API key that \"holdfast\" calls with: an operator's; for \"identity import\" and \"token\", a tenant's principal's"`

	DrainSeconds string `env:"HOLDFAST_DRAIN_SECONDS" read:"api worker" envDefault:"20" help:"How long a stopping process lets requests or jobs under way end"`
	LogLevel     string `env:"HOLDFAST_LOG_LEVEL" read:"api worker schema" envDefault:"info" help:"\"debug\", \"info\", \"warn\" or \"error\""`
}

// readVariables takes the process's own variables from an environment of
// NAME=VALUE entries, and tells which of them are set, be it to nothing.
func readVariables(process Process, environ []string) (v variables, set map[string]bool, err error) {
	given := env.ToMap(environ)
	own := map[string]string{}
	set = map[string]bool{}
	for field := range fields() {
		value, ok := given[field.name]
		if ok && slices.Contains(field.readBy, process) {
			own[field.name] = value
			set[field.name] = true
		}
	}
	return v, set, env.ParseWithOptions(&v, env.Options{Environment: own})
}

// field is a variable as its tags document it.
type field struct {
	name     string
	readBy   []Process
	fallback string
	help     string
}

// fields yields the variables in the order of the struct.
func fields() func(yield func(field) bool) {
	return func(yield func(field) bool) {
		for _, f := range reflect.VisibleFields(reflect.TypeFor[variables]()) {
			described := field{name: f.Tag.Get("env"), help: f.Tag.Get("help"), fallback: f.Tag.Get("default")}
			if fixed := f.Tag.Get("envDefault"); fixed != "" {
				described.fallback = `"` + fixed + `"`
			}
			for _, process := range strings.Fields(f.Tag.Get("read")) {
				described.readBy = append(described.readBy, Process(process))
			}
			if !yield(described) {
				return
			}
		}
	}
}
