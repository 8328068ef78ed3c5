// A mirror in a process of its own, which ends itself in the middle of a statement if it is told to (DIE_AT: which one).
import { DatabaseSync } from 'node:sqlite';
import { Client, openMirror } from '../../../client/src/index.ts';
import { sqliteStore } from '../../../client/src/stores/sqlite.ts';

const { API, ACCESS_KEY_ID, SECRET_ACCESS_KEY, MIRROR, FILTERS, PAGE_SIZE, DIE_AT } = process.env as Record<
  string,
  string
>;
const database = new DatabaseSync(MIRROR!);
let left = DIE_AT === undefined ? Infinity : Number(DIE_AT);
const counted = new Proxy(database, {
  get(target, name) {
    const found = Reflect.get(target, name) as unknown;
    if (typeof found !== 'function') return found;
    return (...given: unknown[]) => {
      if (left-- <= 0) process.kill(process.pid, 'SIGKILL');
      return (found as (...all: unknown[]) => unknown).apply(target, given);
    };
  },
});
const client = new Client({ baseUrl: API!, accessKeyId: ACCESS_KEY_ID!, secretAccessKey: SECRET_ACCESS_KEY! });
const store = sqliteStore(counted);
const mirror = openMirror({ client, store, filters: JSON.parse(FILTERS!), pageSize: Number(PAGE_SIZE) });
await mirror.poll();
process.stdout.write('in step\n');
