// Package objects runs a real S3 server for one stack: versitygw's gateway over
// a folder, behind a small front on loopback that answers what the gateway
// doesn't know and passes on the rest unchanged.
package objects

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/versity/versitygw/backend/meta"
)

// Server is a running S3 server with one bucket.
type Server struct {
	gateway   *gateway
	transport *http.Transport
	front     *http.Server
	endpoint  string
}

// Start starts a server over the objects in folder/objects, with the bucket in
// it, and returns when it takes requests. It changes this process's working
// directory.
func Start(ctx context.Context, folder, bucket string, keys Keys) (*Server, error) {
	root := Root(folder)
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, err
	}
	listener, err := listenAgain(filepath.Join(folder, "objects.address"))
	if err != nil {
		return nil, err
	}
	gateway, err := startGateway(ctx, root, keys)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	transport := newTransport()
	s := &Server{
		gateway:   gateway,
		transport: transport,
		front:     &http.Server{Handler: newLifecycle(newProxy(transport))},
		endpoint:  "http://" + listener.Addr().String(),
	}
	go func() { _ = s.front.Serve(listener) }() // ends with Stop
	if err := s.makeBucket(ctx, bucket, keys); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// listenAgain listens where a server over the folder did before, if that is free:
// a migration's plan names where bodies are.
func listenAgain(file string) (net.Listener, error) {
	if address, err := os.ReadFile(file); err == nil && strings.HasPrefix(string(address), "127.0.0.1:") {
		if listener, err := net.Listen("tcp", string(address)); err == nil {
			return listener, nil
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(file, []byte(listener.Addr().String()), 0o600); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return listener, nil
}

// Fit tells whether a server's folder can be in dir: the gateway writes what it
// knows of an object into the file's extended attributes.
func Fit(dir string) error {
	if err := (meta.XattrMeta{}).Test(dir); err != nil {
		return fmt.Errorf("%s can't hold objects: %w", dir, err)
	}
	return nil
}

// Root is where a server over folder keeps its objects.
func Root(folder string) string { return filepath.Join(folder, "objects") }

// Endpoint is the server's URL.
func (s *Server) Endpoint() string { return s.endpoint }

// Stop ends the server, with whatever requests are under way.
func (s *Server) Stop() error {
	err := s.front.Close()
	s.transport.CloseIdleConnections()
	return errors.Join(err, s.gateway.stop())
}

func (s *Server) makeBucket(ctx context.Context, bucket string, keys Keys) error {
	client := s3.New(s3.Options{
		BaseEndpoint: aws.String(s.endpoint),
		Region:       Region,
		Credentials:  credentials.NewStaticCredentialsProvider(keys.Access, keys.Secret, ""),
		UsePathStyle: true,
	})
	_, err := client.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String(bucket)})
	var owned *types.BucketAlreadyOwnedByYou
	if err != nil && !errors.As(err, &owned) {
		return fmt.Errorf("make the bucket %s: %w", bucket, err)
	}
	return nil
}
