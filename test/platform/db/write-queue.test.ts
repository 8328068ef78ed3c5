import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { WriteQueue, Leave } from '../../../src/platform/db/write-queue.ts';
import { WriteQueueRefusal, WriteQueues } from '../../../src/platform/db/write-queue.ts';

const wide = { quick: 2, slow: 0, slowMs: 60_000, max: 10 };
const lane = (name: string, atOnce = 1): WriteQueue => ({ name, atOnce });
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** Takes turns in many lanes, and tells in which order they came. */
function takers(options: ConstructorParameters<typeof WriteQueues>[0]) {
  const turns = new WriteQueues(options);
  const came: string[] = [];
  const leaves = new Map<string, Leave>();
  const ask = (name: string, of: WriteQueue, signal?: AbortSignal, again?: boolean) =>
    turns.take(of, signal, again).then((leave) => {
      came.push(name);
      leaves.set(name, leave);
    });
  const leave = async (name: string) => {
    leaves.get(name)!();
    await nextTurn();
  };
  return { turns, came, ask, leave };
}

suite('turns', () => {
  test('of one lane come in order, no more at once than it may have', async () => {
    const { came, ask, leave } = takers(wide);
    for (const name of ['a1', 'a2', 'a3']) void ask(name, lane('a'));
    await nextTurn();
    assert.deepEqual(came, ['a1']);
    await leave('a1');
    await leave('a2');
    assert.deepEqual(came, ['a1', 'a2', 'a3']);
  });

  test('are fair between lanes: one that has just come needn’t wait for all of another', async () => {
    const { came, ask, leave } = takers({ ...wide, quick: 1 });
    for (let i = 1; i <= 5; i++) void ask(`a${i}`, lane('a', 4));
    void ask('b1', lane('b'));
    void ask('c1', lane('c'));
    await nextTurn();
    for (const name of ['a1', 'a2', 'b1', 'c1', 'a3', 'a4']) await leave(name);
    assert.deepEqual(came, ['a1', 'a2', 'b1', 'c1', 'a3', 'a4', 'a5']);
  });

  test('that came to nothing come again first', async () => {
    const { came, ask, leave } = takers(wide);
    void ask('a1', lane('a'));
    void ask('a2', lane('a'));
    void ask('a1 again', lane('a'), undefined, true);
    await nextTurn();
    await leave('a1');
    assert.deepEqual(came, ['a1', 'a1 again']);
  });

  test('that last long make room for others, as far as there is room', async () => {
    const { came, ask, leave } = takers({ quick: 1, slow: 1, slowMs: 1, max: 10 });
    await ask('a', lane('a'));
    await ask('b', lane('b'));
    void ask('c', lane('c'));
    await nextTurn();
    assert.deepEqual(came, ['a', 'b']);
    await leave('b');
    assert.deepEqual(came, ['a', 'b', 'c']);
    // A turn that is given back twice counts once.
    await leave('b');
    void ask('d', lane('d'));
    await leave('a');
    assert.ok(came.length <= 4);
  });

  test('are refused where too many wait, in that lane only', async () => {
    const { came, ask } = takers({ ...wide, max: 1 });
    void ask('a1', lane('a'));
    void ask('a2', lane('a'));
    await assert.rejects(ask('a3', lane('a')), (error) => error instanceof WriteQueueRefusal && error.why === 'full');
    await ask('b1', lane('b'));
    assert.deepEqual(came, ['a1', 'b1']);
  });

  test('are not kept for those who no longer wait', async () => {
    const { came, ask, leave } = takers(wide);
    const gone = new AbortController();
    void ask('a1', lane('a'));
    const waiting = ask('a2', lane('a'), gone.signal);
    void ask('a3', lane('a'));
    gone.abort(new WriteQueueRefusal('left'));
    await assert.rejects(waiting, { why: 'left' });
    await assert.rejects(ask('a4', lane('a'), gone.signal), { why: 'left' });
    await leave('a1');
    assert.deepEqual(came, ['a1', 'a3']);
  });

  test('end: those who wait are refused, and whoever comes', async () => {
    const { turns, ask, leave } = takers(wide);
    void ask('a1', lane('a'));
    const waiting = ask('a2', lane('a'));
    await nextTurn();
    turns.close();
    await assert.rejects(waiting, { why: 'stopping' });
    await assert.rejects(ask('b1', lane('b')), { why: 'stopping' });
    await leave('a1');
  });
});
