import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { assertRefused, under } from '../contract/support/expect.ts';
import type { Client } from '../contract/support/client.ts';
import type { TestOrganisation, TestService } from '../support/service.ts';

/** What every list that is paged by cursors keeps to. */

type List = {
  /** Path and query without limit, such as `/assessments?sort=assessed_at`. */
  address: string;
  /** Other addresses, whose cursors must not work here. */
  others: string[];
  /** The same list written otherwise: its cursors work here. */
  same?: string[];
};

type Given = { sibling: TestService; org: TestOrganisation; foreign: TestOrganisation };

const withMore = (address: string, more: string) => `${address}${address.includes('?') ? '&' : '?'}${more}`;

/** All entries and the answers they came in, page by page. */
export async function walk(client: Client, address: string, limitOf: (page: number) => number) {
  const entries: any[] = [];
  const answers = [];
  let cursor: string | null = null;
  for (let page = 0; ; page++) {
    const answer = await client.get(
      withMore(address, `limit=${limitOf(page)}${cursor === null ? '' : `&cursor=${cursor}`}`),
    );
    assert.equal(answer.status, 200, answer.text);
    answers.push(answer);
    entries.push(...answer.body.data);
    if (answer.body.pagination.next === null) return { entries, answers };
    cursor = new URL(answer.body.pagination.next).searchParams.get('cursor');
  }
}

export const cursorOf = async (client: Client, address: string, limit = 2): Promise<string> => {
  const { next } = (await client.get(withMore(address, `limit=${limit}`))).body.pagination;
  return new URL(next).searchParams.get('cursor')!;
};

/** @param given called once the data is there: at least 30 entries for every address */
export function cursorSuite(list: List, given: () => Given): void {
  suite(`cursors of ${list.address}`, () => {
    const whole = async () => (await walk(given().org, list.address, () => 500)).entries;

    test('any page size gives the same walk, without gaps and duplicates', async () => {
      const wanted = await whole();
      assert.ok(wanted.length >= 30, String(wanted.length));
      assert.equal(new Set(wanted.map((entry) => JSON.stringify(entry))).size, wanted.length);
      for (const limit of [1, 3, 7, wanted.length - 1, wanted.length, wanted.length + 1]) {
        const { entries, answers } = await walk(given().org, list.address, () => limit);
        assert.deepEqual(entries, wanted, `limit ${limit}`);
        assert.equal(answers.length, Math.ceil(wanted.length / limit), 'no empty page at the end');
      }
    });

    test('the limit may change from page to page', async () => {
      const { entries } = await walk(given().org, list.address, (page) => [3, 1, 500, 2, 5][page % 5]!);
      assert.deepEqual(entries, await whole());
    });

    test('next is followed as it is', async () => {
      const entries: any[] = [];
      for (let path: string | null = withMore(list.address, 'limit=9'); path !== null;) {
        const { data, pagination }: any = (await given().org.get(path)).body;
        entries.push(...data);
        path = pagination.next === null ? null : under(pagination.next);
      }
      assert.deepEqual(entries, await whole());
    });

    test("every page of a walk has the first one's X-Sync-Through", async () => {
      const { answers } = await walk(given().org, list.address, () => 4);
      assert.equal(new Set(answers.map((answer) => answer.headers['x-sync-through'])).size, 1);
    });

    test('a cursor works on any process', async () => {
      const { org, sibling } = given();
      const address = withMore(list.address, `cursor=${await cursorOf(org, list.address)}`);
      assert.deepEqual(
        withoutOrigin((await sibling.client(org.key).get(address)).body.data),
        withoutOrigin((await org.get(address)).body.data),
      );
    });

    test('a cursor is bound to its organisation, path and filters', async () => {
      const { org, foreign } = given();
      const cursor = await cursorOf(org, list.address);
      assertRefused(await foreign.get(withMore(list.address, `cursor=${cursor}`)), 400, 'invalid_cursor');
      for (const other of list.others) {
        assertRefused(await org.get(withMore(other, `cursor=${cursor}`)), 400, 'invalid_cursor');
        assertRefused(
          await org.get(withMore(list.address, `cursor=${await cursorOf(org, other, 1)}`)),
          400,
          'invalid_cursor',
        );
      }
    });

    test("a cursor isn't bound to the way the filters are written", async () => {
      const cursor = await cursorOf(given().org, list.address);
      const wanted = (await given().org.get(withMore(list.address, `cursor=${cursor}`))).body.data;
      for (const same of list.same ?? [])
        assert.deepEqual((await given().org.get(withMore(same, `cursor=${cursor}`))).body.data, wanted, same);
    });

    test('a changed cursor is refused', async () => {
      const { org } = given();
      const cursor = await cursorOf(org, list.address);
      const changed = Array.from(
        cursor,
        (letter, i) => cursor.slice(0, i) + (letter === 'A' ? 'B' : 'A') + cursor.slice(i + 1),
      ).filter((_, i) => i % 4 === 0);
      for (const bad of [
        ...changed,
        cursor.slice(1),
        cursor.slice(0, -1),
        `${cursor}A`,
        `${cursor}=`,
        `${cursor}%3D`,
        `%20${cursor}`,
        cursor.toLowerCase(),
        cursor + cursor,
        `${cursor},`,
      ]) {
        assertRefused(await org.get(withMore(list.address, `cursor=${bad}`)), 400, 'invalid_cursor');
      }
    });
  });
}

/** Another process has another port, which stands in absolute addresses. */
function withoutOrigin(data: unknown): unknown {
  return JSON.parse(JSON.stringify(data).replace(/http:\/\/127\.0\.0\.1:\d+/g, ''));
}
