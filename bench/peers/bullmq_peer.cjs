// BullMQ over the same Redis, asked as the other peers are: one JSON object a line in, one out (bench/src/queue/peer.rs).

const { createInterface } = require('node:readline')
const { Queue, Worker } = require('bullmq')

const DAY_MS = 86_400_000
const BULK = 500
const CONCURRENCY = 100
// With the property's name, 100 bytes of JSON.
const BODY = { p: 'x'.repeat(92) }
const url = new URL(process.argv[2])
const connection = { host: url.hostname, port: Number(url.port), maxRetriesPerRequest: null }
const queue = new Queue('peer', { connection, defaultJobOptions: { removeOnComplete: true } })

const now = () => performance.timeOrigin + performance.now()

async function inBulk(jobs, make) {
  for (let first = 0; first < jobs; first += BULK) {
    const count = Math.min(BULK, jobs - first)
    await queue.addBulk(Array.from({ length: count }, (_, at) => make(first + at)))
  }
}

async function send({ tasks, bulk, ms }) {
  const start = now()
  let sent = 0
  const sender = async () => {
    while (now() - start < ms) {
      if (bulk) {
        await inBulk(bulk, () => ({ name: 'job', data: BODY, opts: { delay: DAY_MS } }))
      } else {
        await queue.add('job', BODY, { delay: DAY_MS })
      }
      sent += bulk || 1
    }
  }
  await Promise.all(Array.from({ length: tasks }, sender))
  return { rate: (sent * 1000) / (now() - start) }
}

async function fill({ jobs }) {
  await inBulk(jobs, (at) => ({ name: 'job', data: BODY, opts: { delay: DAY_MS + at } }))
  return {}
}

/** Runs a worker until it has begun so many jobs. */
async function until(jobs, begun) {
  let worker
  await new Promise((resolve, reject) => {
    let count = 0
    const handler = async (job) => {
      begun(job)
      if (++count === jobs) resolve()
    }
    worker = new Worker('peer', handler, { connection, concurrency: CONCURRENCY })
    worker.on('error', reject)
  })
  await worker.close()
}

async function work({ jobs }) {
  await inBulk(jobs, () => ({ name: 'job', data: BODY }))
  let first, last
  await until(jobs, () => {
    last = now()
    first ??= last
  })
  return { rate: (jobs * 1000) / (last - first) }
}

async function late({ jobs, per_second, lead_ms }) {
  const start = Math.ceil(now()) + lead_ms
  const due = (at) => start + Math.floor((at * 1000) / per_second)
  await inBulk(jobs, (at) => ({
    name: 'job',
    data: { due: due(at), p: BODY.p },
    opts: { delay: due(at) - Math.floor(now()) },
  }))
  const late = []
  await until(jobs, (job) => late.push(now() - job.data.due))
  late.sort((a, b) => a - b)
  const at = (part) => late[Math.min(late.length - 1, Math.floor(late.length * part))]
  return { p50: at(0.5), p99: at(0.99), max: at(1) }
}

const answers = { send, fill, work, late }

async function main() {
  for await (const line of createInterface({ input: process.stdin })) {
    const asked = JSON.parse(line)
    console.log(JSON.stringify(await answers[asked.do](asked)))
  }
  process.exit(0)
}

main()
