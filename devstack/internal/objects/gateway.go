package objects

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
	"github.com/versity/versitygw/s3api"
)

// Region is the region that requests must be signed for.
const Region = "us-east-1"

// domain is the name below which a host's name may name a bucket:
// http://BUCKET.localhost:PORT. Names below it are this machine (RFC 6761,
// section 6.3). A bucket in the path is understood as well.
const domain = "localhost"

const (
	// The gateway's storage resolves its paths against the working directory,
	// and so moves this process into its root. The socket's path is relative
	// to that too, which keeps it short enough for a socket's address however
	// deep the root lies.
	socket = "../gateway.sock"

	maxConnections = 1024
	maxParts       = 10_000  // of a multipart upload, as in S3
	maxCopy        = 5 << 30 // bytes, as in S3
)

// Keys are the credentials that requests are signed with.
type Keys struct {
	Access string
	Secret string
}

// gateway is the S3 server, which listens on a socket that only its front uses.
// There can be one in a process.
type gateway struct {
	cancel context.CancelFunc
	ended  chan error // gets the gateway's last word
}

// startGateway starts the server over the objects in root, an existing folder,
// and returns when it listens. It changes this process's working directory.
func startGateway(ctx context.Context, root string, keys Keys) (*gateway, error) {
	if err := Fit(root); err != nil {
		return nil, err
	}
	storage, err := posix.New(root, meta.XattrMeta{}, posix.PosixOpts{CopyObjectThreshold: maxCopy})
	if err != nil {
		return nil, err
	}
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err // a killed stack left it
	}
	listening := make(chan struct{})
	// The one account, given here so that the gateway doesn't print that it
	// falls back to it.
	account := auth.Account{Access: keys.Access, Secret: keys.Secret, Role: auth.RoleAdmin}
	config := &embedgw.Config{
		RootUserAccess:    keys.Access,
		RootUserSecret:    keys.Secret,
		IAMService:        auth.NewIAMServiceSingle(account),
		Region:            Region,
		VirtualDomain:     domain,
		Ports:             []string{socket},
		SocketPerm:        "0600",
		MaxConnections:    maxConnections,
		MaxRequests:       maxConnections,
		MultipartMaxParts: maxParts,
		KeepAlive:         true,
		Quiet:             true,
		S3Options:         []s3api.Option{s3api.WithOnListen(func() { close(listening) })},
	}
	serving, cancel := context.WithCancel(context.Background())
	g := &gateway{cancel: cancel, ended: make(chan error, 1)}
	go func() { g.ended <- embedgw.RunVersityGW(serving, storage, config) }()

	select {
	case <-listening:
		return g, nil
	case err := <-g.ended:
		cancel()
		return nil, fmt.Errorf("the S3 gateway ended at its start: %w", err)
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx), g.stop())
	}
}

// stop ends the server. Clients' connections must be closed: it waits for them.
func (g *gateway) stop() error {
	g.cancel()
	return <-g.ended
}

// dial connects to the gateway.
func dial(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", socket)
}
