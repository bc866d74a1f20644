// An IPFS node for tests: js-ipfs with RPC and gateway on loopback, sha3-256 known, no peers outside.
//   node node.mjs REPO [API_PORT GATEWAY_PORT SWARM_PORT]    port 0 takes a free one
// Prints one line of JSON when it is ready; SIGTERM ends it.
import { Daemon } from 'ipfs-daemon'
import { from } from 'multiformats/hashes/hasher'
import { sha3_256 } from '@noble/hashes/sha3'

const [repo, api = '0', gateway = '0', swarm = '0'] = process.argv.slice(2)
const loopback = port => `/ip4/127.0.0.1/tcp/${port}`
const daemon = new Daemon({
  repo,
  silent: true,
  preload: { enabled: false },
  init: { emptyRepo: true, profiles: ['test'], algorithm: 'Ed25519' },
  ipld: { hashers: [from({ name: 'sha3-256', code: 0x16, encode: bytes => sha3_256(bytes) })] },
  config: {
    Addresses: { API: loopback(api), Gateway: loopback(gateway), Swarm: [loopback(swarm)], RPC: '' },
    Bootstrap: [],
    Pubsub: { Enabled: false }
  }
})
const stop = async () => { await daemon.stop(); process.exit(0) }
process.on('SIGTERM', stop)
process.on('SIGINT', stop)
await daemon.start()
const id = await daemon._ipfs.id()
console.log(JSON.stringify({
  api: daemon._httpApi._apiServers.map(server => server.info.uri),
  gateway: daemon._httpGateway._gatewayServers.map(server => server.info.uri),
  id: id.id.toString(),
  swarm: id.addresses.map(String)
}))
