# Each target starts what it needs, and ends it. Go and make are enough: as root,
# tests bring the Debian packages that they need; lint and the clients take npm.

# What npm has brought for the TypeScript client.
TYPESCRIPT = clients/typescript/node_modules/.package-lock.json

.PHONY: dev demo test clients mutate crash bench image terraform lint generate build packages devstack

dev: build ## the stack with the API and the worker, left running; data stays in .holdfast/dev
	bin/devstack run --keep .holdfast/dev -- bin/demo dev

demo: build ## the whole product, driven once from end to end
	bin/devstack run -- bin/demo

test: packages devstack ## all tests
	go -C devstack test ./...
	bin/devstack run --databases 2 --durable=false -- go -C deploy/observability test ./...
	bin/devstack run --databases 3 --durable=false -- go test ./...

clients: build $(TYPESCRIPT) ## the TypeScript client's types, tests and package, and the examples of both clients against a live stack
	cd clients/typescript && npm test --silent
	go build -o bin/examples/ ./clients/go/example/...
	bin/devstack run --durable=false -- bin/tryout

mutate: devstack ## remove each guard of a lease, a record and a migration in turn, and see the tests fail
	bin/devstack run --databases 3 --durable=false -- go test -tags mutate -p 2 -timeout 30m -run TestMutants -v ./internal/domain/lease ./internal/domain/record ./internal/domain/migration

crash: devstack ## kill the database again and again, and judge the histories of worlds
	HOLDFAST_TEST_CRASH=1 HOLDFAST_TEST_HISTORIES=50 bin/devstack run --databases 3 -- go test -run TestHistoriesUnderFaults -v ./internal/domain/lease

bench: build ## the product beside its references, as ratios
	bin/devstack run --databases 1 -- bin/holdfast bench identity
	bin/devstack run --databases 1 -- bin/holdfast bench lease
	bin/devstack run --databases 1 -- bin/holdfast bench records
	bin/devstack run --databases 1 -- bin/holdfast bench migration
	bin/devstack run --databases 1 -- bin/holdfast bench neighbour

image: devstack ## lint Dockerfile and compose.yaml, and rehearse the image; no engine is needed
	go -C deploy/image vet ./...
	bin/devstack run --databases 1 --durable=false -- go -C deploy/image test -count=1 ./...

terraform: devstack ## check deploy/terraform, with a bucket that is really made
	bin/devstack run --databases 1 --durable=false -- deploy/terraform/check.sh

lint: ## format, vet, staticcheck, and the API's description
	@! gofmt -l . | grep . || (echo "gofmt -w these files"; exit 1)
	go vet ./... && go -C devstack vet ./... && go -C deploy/observability vet ./...
	go run $(STATICCHECK) ./... && go -C devstack run $(STATICCHECK) ./... && go -C deploy/observability run $(STATICCHECK) ./...
	npx --yes @redocly/cli@2.77.0 lint web/openapi.yaml

generate: $(TYPESCRIPT) ## everything that is generated and checked in
	go generate ./... && go -C deploy/observability generate ./...
	cd clients/typescript && npm run --silent generate

build: devstack
	go build -o bin/ ./cmd/...

packages: ## what tests need of Debian
	devstack/packages pg_dump=postgresql pgbouncer=pgbouncer jq=jq curl=curl

devstack:
	go -C devstack build -o ../bin/ . ./etcdload

$(TYPESCRIPT): clients/typescript/package-lock.json
	@node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' 2>/dev/null && command -v npm >/dev/null || \
		{ echo "The TypeScript client needs Node.js 20 or later with npm, which isn't here: apt-get install -y npm, or see nodejs.org"; exit 1; }
	cd clients/typescript && npm ci --silent
	@touch $@

STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
