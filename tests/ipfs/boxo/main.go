// odf-test-ipfsd is a small real IPFS node for tests, made of boxo: a block store, an importer of CARs, IPNS and the gateway
// that Kubo has, on loopback only.
//
//	POST /import                      body: CARv1; every block is checked, answers the roots
//	POST /publish/{key}?path=/ipfs/…  an IPNS name of a key made on first use
//	GET  /ipfs/… /ipns/…              the gateway, trustless and deserialised
//
// With -remote URL it has no blocks: it fetches them (with -car as CARs) from that trustless gateway and verifies each one
// and every IPNS record, so what it answers is what that gateway can prove.
package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/ipfs/boxo/blockservice"
	"github.com/ipfs/boxo/blockstore"
	offlineexchange "github.com/ipfs/boxo/exchange/offline"
	"github.com/ipfs/boxo/gateway"
	"github.com/ipfs/boxo/ipns"
	"github.com/ipfs/boxo/namesys"
	"github.com/ipfs/boxo/path"
	offlinerouting "github.com/ipfs/boxo/routing/offline"
	"github.com/ipfs/boxo/verifcid"
	"github.com/ipfs/go-datastore"
	dssync "github.com/ipfs/go-datastore/sync"
	carv2 "github.com/ipld/go-car/v2"
	record "github.com/libp2p/go-libp2p-record"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"
)

type node struct {
	blocks blockstore.Blockstore
	names  namesys.NameSystem
	mutex  sync.Mutex
	keys   map[string]crypto.PrivKey
}

func main() {
	address := flag.String("listen", "127.0.0.1:0", "address to listen on")
	remote := flag.String("remote", "", "trustless gateway to read from")
	asCars := flag.Bool("car", false, "with -remote: fetch CARs instead of single blocks")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	store := dssync.MutexWrap(datastore.NewMapDatastore())
	validator := record.NamespacedValidator{"pk": record.PublicKeyValidator{}, "ipns": ipns.Validator{}}
	router := offlinerouting.NewOfflineRouter(store, validator)
	here := &node{
		blocks: blockstore.NewBlockstore(store),
		names:  must(namesys.NewNameSystem(router, namesys.WithDatastore(store))),
		keys:   map[string]crypto.PrivKey{},
	}
	var backend gateway.IPFSBackend
	switch {
	case *remote != "" && *asCars:
		backend = must(gateway.NewRemoteCarBackend([]string{*remote}, http.DefaultClient))
	case *remote != "":
		backend = must(gateway.NewRemoteBlocksBackend([]string{*remote}, http.DefaultClient))
	default:
		blocks := blockservice.New(here.blocks, offlineexchange.Exchange(here.blocks))
		backend = must(gateway.NewBlocksBackend(blocks, gateway.WithNameSystem(here.names), gateway.WithValueStore(router)))
	}
	listener := must(net.Listen("tcp", *address))
	fmt.Printf("{\"gateway\":\"http://%s\"}\n", listener.Addr())
	server := &http.Server{Handler: here.routes(backend), ReadHeaderTimeout: 10 * time.Second}
	go func() { <-ctx.Done(); server.Close() }()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		must(0, err)
	}
}

func (n *node) routes(backend gateway.IPFSBackend) http.Handler {
	config := gateway.Config{DeserializedResponses: true, NoDNSLink: true, DisableHTMLErrors: true}
	handler := gateway.NewHandler(config, backend)
	mux := http.NewServeMux()
	mux.Handle("/ipfs/", handler)
	mux.Handle("/ipns/", handler)
	mux.HandleFunc("POST /import", answering(n.importCar))
	mux.HandleFunc("POST /publish/{key}", answering(n.publish))
	return mux
}

func (n *node) importCar(request *http.Request) (any, error) {
	reader, err := carv2.NewBlockReader(request.Body) // checks every block against its CID
	if err != nil {
		return nil, err
	}
	count := 0
	for {
		block, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return map[string]any{"roots": reader.Roots, "blocks": count}, nil
		}
		if err == nil {
			err = verifcid.ValidateCid(verifcid.DefaultAllowlist, block.Cid())
		}
		if err == nil {
			err = n.blocks.Put(request.Context(), block)
		}
		if err != nil {
			return nil, err
		}
		count++
	}
}

func (n *node) publish(request *http.Request) (any, error) {
	value, err := path.NewPath(request.URL.Query().Get("path"))
	if err != nil {
		return nil, err
	}
	key, err := n.key(request.PathValue("key"))
	if err != nil {
		return nil, err
	}
	until := time.Now().Add(24 * time.Hour)
	if err := n.names.Publish(request.Context(), key, value, namesys.PublishWithEOL(until)); err != nil {
		return nil, err
	}
	id, err := peer.IDFromPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return map[string]string{"name": ipns.NameFromPeer(id).String(), "value": value.String()}, nil
}

func (n *node) key(name string) (crypto.PrivKey, error) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if n.keys[name] == nil {
		key, _, err := crypto.GenerateEd25519Key(rand.Reader)
		if err != nil {
			return nil, err
		}
		n.keys[name] = key
	}
	return n.keys[name], nil
}

func answering(handle func(*http.Request) (any, error)) http.HandlerFunc {
	return func(writer http.ResponseWriter, request *http.Request) {
		answer, err := handle(request)
		if err != nil {
			http.Error(writer, err.Error(), http.StatusBadRequest)
			return
		}
		writer.Header().Set("Content-Type", "application/json")
		json.NewEncoder(writer).Encode(answer)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return value
}
