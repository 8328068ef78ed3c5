// Runs a script of Google Sheets, and plays what Google gives it: node sheet.ts SCRIPT STATE, where STATE is the file that
// keeps the sheet's cells and the document's properties between runs, and the environment holds the script's properties.
import { spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createContext, runInContext } from 'node:vm';

const [script, file] = process.argv.slice(2) as [string, string];
type State = { cells: string[][]; properties: Record<string, string> };
const state: State = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : { cells: [], properties: {} };
const keep = () => writeFileSync(file, JSON.stringify(state));

const properties = (held: Record<string, string | undefined>, set?: (name: string, value: string) => void) => ({
  getProperty: (name: string) => held[name] ?? null,
  setProperty: set,
});

/** As a sheet takes what is written into a cell: only what an apostrophe marks as text is sure to stay it. */
function cell(value: string): string {
  if (value.startsWith("'")) return value.slice(1);
  throw new Error(`a sheet may compute this: ${value}`);
}

const sheet = {
  getLastRow: () => state.cells.length,
  getDataRange: () => ({ getDisplayValues: () => (state.cells.length === 0 ? [['']] : state.cells) }),
  getRange: (row: number, column: number, rows: number, columns: number) => ({
    setValues(values: string[][]) {
      if (column !== 1 || values.length !== rows || values.some((one) => one.length !== columns))
        throw new Error('The number of cells is another than that of the values.');
      values.forEach((one, i) => (state.cells[row - 1 + i] = one.map(cell)));
    },
    clearContent() {
      if (row - 1 + rows === state.cells.length) state.cells.length = row - 1;
      else for (let i = 0; i < rows; i++) state.cells[row - 1 + i] = new Array<string>(columns).fill('');
    },
  }),
};

/** A process of its own asks, because the script waits for what it asks for. */
const asker = `
const { url, headers } = JSON.parse(require('node:fs').readFileSync(0, 'utf8'));
fetch(url, { headers, redirect: 'manual' }).then(async (reply) => {
  const body = await reply.text();
  process.stdout.write(JSON.stringify({ status: reply.status, headers: Object.fromEntries(reply.headers), body }));
});`;

function ask(url: string, { headers }: { headers: Record<string, string> }) {
  const { status, stdout } = spawnSync(process.execPath, ['-e', asker], {
    input: JSON.stringify({ url, headers }),
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error('Address unavailable');
  const reply = JSON.parse(stdout) as { status: number; headers: Record<string, string>; body: string };
  return {
    getResponseCode: () => reply.status,
    getHeaders: () => reply.headers,
    getContentText: () => reply.body,
  };
}

const google = createContext({
  console,
  SpreadsheetApp: {
    getActiveSpreadsheet: () => ({ getSheetByName: () => sheet, insertSheet: () => sheet }),
    flush: keep,
  },
  PropertiesService: {
    getScriptProperties: () => properties(process.env),
    getDocumentProperties: () =>
      properties(state.properties, (name, value) => {
        state.properties[name] = value;
        keep();
      }),
  },
  LockService: { getScriptLock: () => ({ tryLock: () => true, releaseLock: () => {} }) },
  UrlFetchApp: { fetch: ask },
  Utilities: {
    DigestAlgorithm: { SHA_256: 'sha256' },
    computeDigest: (algorithm: string, bytes: number[]) => [
      ...new Int8Array(hash(algorithm, Int8Array.from(bytes), 'buffer')),
    ],
    sleep: (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms),
  },
});
runInContext(readFileSync(script, 'utf8'), google, { filename: script });
runInContext('sync()', google);
