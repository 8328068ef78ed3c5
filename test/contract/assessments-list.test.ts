import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import Type from 'typebox';
import { Assessment, ScopeExitTombstone, Tombstone } from '../../src/records/results/schema.ts';
import { limits } from '../../src/platform/config/limits.ts';
import { assertList, assertRefused, assertShape, under } from './support/expect.ts';
import { contractTarget } from './support/target.ts';

const target = await contractTarget();
const Entry = Type.Union([Assessment, Tombstone, ScopeExitTombstone]);
const uuid = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const query = (text: string) => target.get(`/assessments?${text}`);

suite('GET /assessments', () => {
  suite('200', () => {
    test('entries have exactly their fields, in the order of updated_at', async () => {
      const answer = await target.get('/assessments');
      assertList(answer, limits.pageDefault);
      assert.ok(answer.body.data.length > 0);
      for (const entry of answer.body.data) {
        assertShape(Entry, entry);
        if (entry.status !== 'completed') continue;
        assert.equal(
          entry.evidence_pack_url,
          `${new URL(entry.evidence_pack_url).origin}/api/v1/assessments/${entry.assessment_id}/report.pdf`,
        );
      }
      const stamps = answer.body.data.map((entry: any) => entry.updated_at);
      assert.deepEqual(stamps, [...stamps].sort());
      assert.ok(answer.headers['x-sync-through']! >= stamps.at(-1));
    });

    test('the funding fields agree with each other', async () => {
      const codes: Record<string, number> = { 'Entry Level': 1, 'Level 1': 2, 'Level 2': 3, 'Level 3': 5 };
      for (const entry of (await query('status=completed&limit=500')).body.data) {
        assert.equal(entry.rqf_level_code, entry.rqf_level === null ? null : codes[entry.rqf_level]);
        if (entry.rqf_level_code !== null) assert.equal(entry.below_level_1, entry.rqf_level_code < 2);
        else assert.notEqual(entry.below_level_1, false);
      }
    });

    test('a tombstone has nothing but its id, status and updated_at', async () => {
      const { data } = (await query('status=deleted')).body;
      if (target.local !== null) assert.ok(data.length > 0);
      for (const entry of data) assert.deepEqual(Object.keys(entry), ['assessment_id', 'status', 'updated_at']);
    });

    for (const [given, limit] of [
      ['1', 1],
      ['500', 500],
      ['501', 500],
      ['999999999', 500],
      ['0', 1],
      ['-3', 1],
      ['', 100],
      ['ten', 100],
      ['1.5', 100],
      ['1e2', 100],
      ['%31', 1],
      ['5&limit=6', 100],
    ] as const) {
      test(`limit=${given} means ${limit}`, async () => assertList(await query(`limit=${given}`), limit));
    }

    test('next is absolute, repeats all parameters, and goes on where the page ended', async () => {
      const asked = 'subject=maths,digital&status=completed,deleted&limit=2&assessed_from=2001-01-01T00:00:00%2B01:00';
      const first = await query(asked);
      assertList(first, 2);
      const next = new URL(first.body.pagination.next);
      assert.deepEqual([...next.searchParams.keys()].sort(), ['assessed_from', 'cursor', 'limit', 'status', 'subject']);
      const second = await target.get(under(first.body.pagination.next));
      assertList(second, 2);
      assert.equal(second.headers['x-sync-through'], first.headers['x-sync-through']);
      assert.notDeepEqual(second.body.data, first.body.data);
    });

    test('CSV and a repeated parameter are the same filter, in any order, with duplicates', async () => {
      const wanted = await query('subject=maths,digital&limit=500');
      for (const same of [
        'subject=digital,maths',
        'subject=maths&subject=digital',
        'subject=digital&subject=maths,maths',
        'subject=digital%2Cmaths',
        '&subject=maths,digital&',
      ]) {
        const answer = await query(`${same}&limit=500`);
        assert.deepEqual(answer.body.data, wanted.body.data, same);
        assert.equal(answer.headers.etag, wanted.headers.etag, same);
      }
    });

    test('an unknown or foreign group matches nothing', async () => {
      assert.deepEqual((await query(`group_id=${uuid(1)}`)).body.data, []);
      if (target.local === null) return;
      const foreign = await target.local.foreign.post('/groups', { type: 'cohort', ref: 'F', name: 'Foreign' });
      assert.deepEqual((await query(`group_id=${foreign.body.data.id}`)).body.data, []);
    });

    test('group ids are read in any case', async () => {
      const {
        data: [group],
      } = (await target.get('/groups?limit=1')).body;
      const lower = await query(`group_id=${group.id}`);
      assert.deepEqual((await query(`group_id=${group.id.toUpperCase()}`)).body.data, lower.body.data);
    });

    test('20 groups are a filter', async () =>
      assertList(await query(`group_id=${Array.from({ length: 20 }, (_, i) => uuid(i)).join(',')}`), 100));

    test('20 groups with duplicates are a filter', async () => {
      assertList(await query(`group_id=${Array.from({ length: 20 }, (_, i) => uuid(i)).join(',')},${uuid(3)}`), 100);
    });

    test('a future since is an empty page', async () => {
      const answer = await query('since=2999-01-01T00:00:00Z');
      assertList(answer, 100);
      assert.deepEqual(answer.body.data, []);
    });

    for (const since of [
      '2020-01-01T00:00:00Z',
      '2020-01-01t00:00:00z',
      '2020-01-01T01:00:00%2B01:00',
      '2019-12-31T19:00:00-05:00',
      '2020-01-01T00:00:00.123456789Z',
      '2016-12-31T23:59:60Z',
      '0001-01-01T00:00:00Z',
      '0000-01-01T00:00:00%2B14:00',
      '2020-02-29T00:00:00-00:00',
      '2020-01-01T00%3A00%3A00Z',
    ]) {
      test(`since=${since} is a date-time, and its next page opens`, async () => {
        const first = await query(`since=${since}&limit=1`);
        assertList(first, 1);
        assertList(await target.get(under(first.body.pagination.next)), 1);
      });
    }

    for (const bound of ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59-12:00', '0000-01-01T00:00:00%2B12:00']) {
      test(`assessed_from and assessed_to take ${bound}`, async () => {
        assertList(await query(`assessed_to=${bound}`), 100);
        assertList(await query(`assessed_from=${bound}`), 100);
      });
    }

    test("since is inclusive: a record's own updated_at finds it", async () => {
      const { data } = (await query('limit=500')).body;
      const middle = data[Math.floor(data.length / 2)];
      const found = (await query(`since=${middle.updated_at}&limit=500`)).body.data;
      assert.ok(found.some((entry: any) => entry.assessment_id === middle.assessment_id));
      assert.ok(found.every((entry: any) => entry.updated_at >= middle.updated_at));
    });

    test('assessed_from and assessed_to are inclusive', async () => {
      const {
        data: [one],
      } = (await query('status=completed&limit=1')).body;
      const found = (await query(`status=completed&assessed_from=${one.assessed_at}&assessed_to=${one.assessed_at}`))
        .body.data;
      assert.ok(found.some((entry: any) => entry.assessment_id === one.assessment_id));
      assert.ok(found.every((entry: any) => entry.assessed_at === one.assessed_at));
    });

    for (const sort of ['updated_at', '-updated_at', 'assessed_at', '-assessed_at']) {
      test(`sort=${sort}`, async () => {
        const answer = await query(`status=completed&limit=500&sort=${sort}`);
        assertList(answer, 500);
        const values = answer.body.data.map((entry: any) => entry[sort.replace('-', '')]);
        const sorted = [...values].sort();
        assert.deepEqual(values, sort.startsWith('-') ? sorted.reverse() : sorted);
      });
    }

    test(
      'learner_ref finds one learner, whatever stands in the reference',
      { skip: target.local === null && 'needs results of its own' },
      async () => {
        const { scene } = target.local!;
        for (const ref of ['a/b', 'x:1', 'dots..and-dashes_', 'UPPER', 'upper', '9', 'r'.repeat(100)]) {
          const result = await (await scene.learner(ref, 'Somebody')).completes();
          for (const written of [ref, encodeURIComponent(ref)]) {
            assert.deepEqual(
              (await query(`learner_ref=${written}`)).body.data.map((entry: any) => entry.assessment_id),
              [result.id],
            );
          }
        }
      },
    );

    test('HEAD is GET without the body', async () => {
      const [head, get] = [await target.api('HEAD', '/assessments?limit=2'), await target.get('/assessments?limit=2')];
      assert.equal(head.status, 200);
      assert.equal(head.text, '');
      assert.equal(head.headers.etag, get.headers.etag);
      assert.equal(head.headers['content-length'], get.headers['content-length'] ?? String(get.bytes.length));
    });
  });

  suite('304', () => {
    test('the same request again', async () => {
      const first = await query('limit=3');
      const again = await target.get('/assessments?limit=3', { 'if-none-match': first.headers.etag! });
      assert.equal(again.status, 304);
      assert.equal(again.text, '');
      assert.equal(again.headers.etag, first.headers.etag);
      assert.equal(again.headers['x-sync-through'], first.headers['x-sync-through']);
      assert.equal(again.headers['content-type'], undefined);
      assert.match(again.headers.ratelimit!, /r=\d+/);
    });

    test('*, lists, weak and strong forms', async () => {
      const { etag } = (await query('limit=3')).headers;
      const opaque = etag!.slice(2);
      for (const header of [
        '*',
        `"other", ${etag}`,
        `${etag}, "other"`,
        opaque,
        `W/"x",W/"y",${opaque}`,
        ` ${etag} `,
      ]) {
        assert.equal((await target.get('/assessments?limit=3', { 'if-none-match': header })).status, 304, header);
      }
      for (const header of ['"other"', opaque.slice(1, -1), 'W/"x", W/"y"', '']) {
        assert.equal((await target.get('/assessments?limit=3', { 'if-none-match': header })).status, 200, header);
      }
    });

    test('the ETag belongs to filters, limit and cursor', async () => {
      const first = await query('limit=2');
      const others = [
        'limit=3',
        'limit=2&subject=maths',
        `limit=2&cursor=${new URL(first.body.pagination.next).searchParams.get('cursor')}`,
        'limit=2&sort=-updated_at',
      ];
      const etags = [
        first.headers.etag,
        ...(await Promise.all(others.map(async (other) => (await query(other)).headers.etag))),
      ];
      assert.equal(new Set(etags).size, etags.length);
    });

    test(
      "a change behind the first page changes the first page's ETag",
      { skip: target.local === null && 'needs a change of its own' },
      async () => {
        const first = await query('limit=1');
        await target.local!.learners[5]!.completes({ subject: 'english' });
        const again = await target.get('/assessments?limit=1', { 'if-none-match': first.headers.etag! });
        assert.equal(again.status, 200);
        assert.notEqual(again.headers.etag, first.headers.etag);
      },
    );

    test('is not answered where the request would be refused', async () => {
      assertRefused(await target.get('/assessments?subject=latin', { 'if-none-match': '*' }), 400, 'invalid_subject');
      assertRefused(await target.get('/assessments?cursor=x', { 'if-none-match': '*' }), 400, 'invalid_cursor');
    });
  });

  suite('400', () => {
    const emptyMembers = ['', ',', 'maths,', ',maths', 'maths,,digital'];
    const badInstants = [
      '',
      'yesterday',
      '2026-01-01',
      '2026-01-01T00:00:00',
      '2026-01-01T00:00Z',
      '2026-01-01%2000:00:00Z',
      '2026-01-01T00:00:00%2B0100',
      '2026-01-01T00:00:00%2B24:00',
      '2026-01-01T24:00:00Z',
      '2026-01-01T00:60:00Z',
      '2026-01-01T00:00:61Z',
      '2026-02-29T00:00:00Z',
      '2026-13-01T00:00:00Z',
      '2026-00-10T00:00:00Z',
      '2026-01-00T00:00:00Z',
      '%2B2026-01-01T00:00:00Z',
      '-2026-01-01T00:00:00Z',
      '26-01-01T00:00:00Z',
      '2026-01-01T00:00:00,5Z',
      '2026-01-01T00:00:00.Z',
      '1767225600',
      '2026-01-01T00:00:00+01:00',
      '2026-01-01T00:00:00Z%00',
      '２026-01-01T00:00:00Z'.replace('２', '%EF%BC%92'),
      '2026-01-01T00:00:00Z,2026-01-02T00:00:00Z',
      '%zz',
    ];
    const faults: Record<string, readonly string[]> = {
      invalid_since: badInstants
        .map((text) => `since=${text}`)
        .concat('since=2026-01-01T00:00:00Z&since=2026-01-01T00:00:00Z'),
      invalid_assessed_from: badInstants.map((text) => `assessed_from=${text}`),
      invalid_assessed_to: badInstants.map((text) => `assessed_to=${text}`),
      invalid_cursor: [
        'cursor=',
        'cursor=x',
        'cursor=%00',
        `cursor=${'A'.repeat(5000)}`,
        'cursor=a&cursor=b',
        'cursor=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
      ],
      invalid_learner_ref: [
        'learner_ref=',
        'learner_ref=ana@example.org',
        'learner_ref=ana%40example.org',
        'learner_ref=Ana%20Silva',
        'learner_ref=Ana+Silva',
        'learner_ref=-a',
        'learner_ref=.a',
        'learner_ref=_a',
        'learner_ref=/a',
        `learner_ref=${'a'.repeat(101)}`,
        'learner_ref=a&learner_ref=b',
        'learner_ref=a,b',
        'learner_ref=AB123456C',
        'learner_ref=ab-12-34-56-c',
        'learner_ref=ref:AB123456C',
        'learner_ref=%C3%A9',
        'learner_ref=a%00',
        'learner_ref=%',
        'learner_ref',
      ],
      invalid_subject: [...emptyMembers, 'latin', 'Maths', 'maths;digital', 'maths%20', 'maths,latin']
        .map((text) => `subject=${text}`)
        .concat('subject=maths&subject=', 'subject=maths&subject=latin', 'subject'),
      invalid_rqf_level_code: ['', '0', '4', '6', '1,4', '>=2', '2-3', '01', '1.0', '%2B1', '1,', 'one'].map(
        (text) => `rqf_level_code=${text}`,
      ),
      invalid_below_level_1: ['', 'yes', '1', 'TRUE', 'null', 'true,false', 'true&below_level_1=true'].map(
        (text) => `below_level_1=${text}`,
      ),
      invalid_status: ['', 'active', 'Completed', 'completed,', 'completed,gone'].map((text) => `status=${text}`),
      invalid_group_id: [
        '',
        'x',
        uuid(1).slice(1),
        `${uuid(1)},`,
        `${uuid(1)},x`,
        `{${uuid(1)}}`,
        uuid(1).replaceAll('-', ''),
      ].map((text) => `group_id=${text}`),
      too_many_groups: [
        `group_id=${Array.from({ length: 21 }, (_, i) => uuid(i)).join(',')}`,
        Array.from({ length: 21 }, (_, i) => `group_id=${uuid(i)}`).join('&'),
      ],
      invalid_sort: [
        '',
        '%2Bupdated_at',
        '+updated_at',
        'Updated_at',
        '--updated_at',
        'created_at',
        'updated_at,assessed_at',
        'updated_at&sort=updated_at',
        '-',
      ].map((text) => `sort=${text}`),
      sort_with_since: ['sort=updated_at&since=2026-01-01T00:00:00Z', 'since=2026-01-01T00:00:00Z&sort=-assessed_at'],
      unknown_parameter: [
        'foo=1',
        'foo',
        'Since=2026-01-01T00:00:00Z',
        'subject[]=maths',
        'subject%5B%5D=maths',
        'subject[in]=maths',
        'updated_at.gt=1',
        'page=2',
        'offset=3',
        '=x',
        'a%zz=1',
        '__proto__=1',
        'constructor=1',
        'type=cohort',
        '%20since=2026-01-01T00:00:00Z',
      ],
    };
    for (const [code, queries] of Object.entries(faults)) {
      test(code, async () => {
        for (const one of queries) assertRefused(await query(one), 400, code);
      });
    }

    test("several faults: the first in the specification's list", async () => {
      const inOrder = [
        'unknown_parameter',
        'invalid_since',
        'invalid_cursor',
        'invalid_learner_ref',
        'invalid_subject',
        'invalid_assessed_from',
        'invalid_assessed_to',
        'invalid_rqf_level_code',
        'invalid_below_level_1',
        'invalid_status',
        'invalid_group_id',
        'invalid_sort',
      ];
      const parts = inOrder.map((code) => faults[code]![1]!);
      for (let first = 0; first < parts.length; first++) {
        assertRefused(await query(parts.slice(first).reverse().join('&')), 400, inOrder[first]!);
        assertRefused(await query(parts.slice(first).join('&')), 400, inOrder[first]!);
      }
      assertRefused(await query(`sort=bad&${faults.too_many_groups![0]}`), 400, 'too_many_groups');
      assertRefused(await query('sort=bad&since=2026-01-01T00:00:00Z'), 400, 'invalid_sort');
      assertRefused(await query('sort=updated_at&since=2026-01-01T00:00:00Z&cursor=x'), 400, 'invalid_cursor');
      assertRefused(await query('sort=updated_at&since=2026-01-01T00:00:00Z&subject=latin'), 400, 'invalid_subject');
    });

    test('a + that came as a space gets a hint', async () => {
      for (const name of ['since', 'assessed_from', 'assessed_to']) {
        const answer = await query(`${name}=2026-01-01T00:00:00+01:00`);
        assertRefused(answer, 400, `invalid_${name}`);
        assert.match(answer.body.error.message, /%2B/);
      }
    });

    test('messages never repeat what was sent', async () => {
      for (const one of [
        'learner_ref=ana%40example.org',
        'learner_ref=AB123456C',
        'subject=ana-silva',
        'ana-silva=1',
      ]) {
        assert.doesNotMatch((await query(one)).text, /ana-silva|ana@|AB123456C/);
      }
    });
  });
});
