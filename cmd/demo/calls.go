package main

import (
	"io"
	"os"
	"strings"
	"text/template"
)

// calls are ready to paste, into any shell with curl and sed.
const calls = `
Holdfast serves at {{.URL}} until you press Ctrl-C. Its log is {{.Log}}.
The tenant {{.Tenant}} is there{{if .Kept}}, as an earlier run made it{{end}}, with a key. Paste:

  export HOLDFAST={{.URL}}
  field() { sed 's/.*"'$1'":"\([^"]*\)".*/\1/'; }
  export TOKEN=$(curl -s -u '{{.KeyID}}:{{.Key}}' -d grant_type=client_credentials $HOLDFAST/v1/oauth/token | field access_token)

  curl -si -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -H 'Idempotency-Key: ada' \
       -d '{"handle": "Ada", "email": "ada@example.com", "email_verified": true}' $HOLDFAST/v1/accounts
  curl -si -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '{"handle": "ada"}' $HOLDFAST/v1/accounts/lookup
  curl -si -H "Authorization: Bearer $TOKEN" $HOLDFAST/v1/accounts

A world has a journal, and whoever is its writer appends to it; here that is Holdfast, for any client of the tenant:

  curl -si -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '{"world_id": "north-7"}' $HOLDFAST/v1/worlds
  curl -si -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \
       -d '{"entries": [{"entry_id": "turn-1", "json": {"add": 1}}]}' $HOLDFAST/v1/worlds/north-7/journal
  curl -s -H "Authorization: Bearer $TOKEN" -H 'Accept: application/x-ndjson' $HOLDFAST/v1/worlds/north-7/journal

A record has sections of exact bytes. This publishes one, reads it back, changes it from its first revision, and shows what has changed:

  curl -si -X PUT -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '{}' $HOLDFAST/v1/collections/orders
  curl -si -X PUT -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -H 'If-None-Match: *' \
       -d '{"operation_id": "order-4711", "sections": {"items": {"body": "'$(printf 'two apples' | base64)'"}}}' $HOLDFAST/v1/collections/orders/records/4711
  curl -si -H "Authorization: Bearer $TOKEN" $HOLDFAST/v1/collections/orders/records/4711/sections/items/body
  curl -si -X PUT -H "Authorization: Bearer $TOKEN" -H 'If-Match: "1"' \
       -F 'publication={"operation_id": "order-4711-large"};type=application/json' -F items=@README.md $HOLDFAST/v1/collections/orders/records/4711
  curl -si -H "Authorization: Bearer $TOKEN" "$HOLDFAST/v1/collections/orders/export?after=0"

A device logs in: it asks for codes and shows one, you approve that in the name of Ada, and it gets tokens:

  ACCOUNT=$(curl -s -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '{"handle": "ada"}' $HOLDFAST/v1/accounts/lookup | field id)
  CODES=$(curl -s -d client_id={{.Client}} --data-urlencode label='Living room' $HOLDFAST/v1/oauth/device_authorization); echo $CODES
  curl -si -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \
       -d '{"user_code": "'$(echo $CODES | field user_code)'", "account_id": "'$ACCOUNT'"}' $HOLDFAST/v1/device-codes/approve
  curl -si -d client_id={{.Client}} -d grant_type=urn:ietf:params:oauth:grant-type:device_code \
       -d device_code=$(echo $CODES | field device_code) $HOLDFAST/v1/oauth/token

The command line is bin/holdfast, here as the first operator:

  export HOLDFAST_URL={{.URL}}
  export HOLDFAST_API_KEY={{.Operator}}
  bin/holdfast tenant list
  bin/holdfast client list {{.TenantID}}
  bin/holdfast tenant storage {{.TenantID}} --format 2 --yes    # the bodies of its new collections go into the object store from now on

It also verifies all that the databases and the bucket have of the tenant, straight from these, in one line each:

  {{range .Databases}}{{.}} {{end}}bin/holdfast identity check {{.TenantID}}
  {{range .Databases}}{{.}} {{end}}HOLDFAST_ENVIRONMENT=development {{range .Bucket}}{{.}} {{end}}bin/holdfast record check {{.TenantID}}

The second operator's API key, for this stack only like the first's:

  {{.SecondOperator}}
`

// printCalls writes calls as they are for this stack, with a public client of
// its tenant's.
func (s *stack) printCalls(out io.Writer, client string) error {
	id, secret, _ := strings.Cut(strings.TrimPrefix(s.acme.key, "hf_"), "_")
	return template.Must(template.New("calls").Parse(calls)).Execute(out, map[string]any{
		"URL":            s.url(),
		"Log":            s.log.Name(),
		"Tenant":         s.acme.name,
		"TenantID":       s.acme.id,
		"Kept":           s.acme.kept,
		"Databases":      assignments("HOLDFAST_CONTROL_URL", "HOLDFAST_DATA_URLS", "HOLDFAST_PLACEMENT", "HOLDFAST_POOLER", "HOLDFAST_API_PASSWORD"),
		"Bucket":         assignments("HOLDFAST_BODIES_ENDPOINT", "HOLDFAST_BODIES_BUCKET", "HOLDFAST_BODIES_STYLE", "AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"),
		"KeyID":          "hf_" + id,
		"Key":            secret,
		"Client":         client,
		"Operator":       os.Getenv("HOLDFAST_OPERATOR_KEY"),
		"SecondOperator": os.Getenv("HOLDFAST_SECOND_OPERATOR_KEY"),
	})
}

// assignments are the variables that this process has of those, each as a shell
// reads it: NAME='value'.
func assignments(names ...string) (words []string) {
	for _, name := range names {
		if value := os.Getenv(name); value != "" {
			words = append(words, name+"='"+strings.ReplaceAll(value, "'", `'\''`)+"'")
		}
	}
	return words
}
