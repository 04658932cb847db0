package holdfast

//go:generate go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2 -config codegen.yaml ../../web/openapi.yaml
//go:generate go run ./internal/iterators client.gen.go lists.gen.go
//go:generate go run ./internal/operations ../../web/openapi.yaml holdfast operations.gen.go
