import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import Type from 'typebox';
import { clientGroupTypes } from '../../src/organisations/groups/types.ts';
import { Provisioned } from '../../src/sittings/invitations/schema.ts';
import type { Client } from './support/client.ts';
import { assertRateHeaders, assertRefused, assertShape, nationalInsuranceNumbers } from './support/expect.ts';
import { contractTarget, freshRef } from './support/target.ts';

const target = await contractTarget();
const provision = (body: unknown, who: Client = target) => who.post('/learners', body);
const group = (extra: object = {}) => ({ type: 'cohort', ref: 'PROVISION-C', name: 'Provisioned cohort', ...extra });

suite('POST /learners', () => {
  suite('201', () => {
    test('a learner with a reference, groups and an invitation', async () => {
      const ref = freshRef('new');
      const answer = await provision({
        ref,
        full_name: 'Zoë Ó Brien',
        email: 'zoe@example.org',
        groups: [group(), { ...group(), type: 'course' }],
      });
      assert.equal(answer.status, 201, answer.text);
      assertShape(Type.Object({ data: Provisioned }), answer.body);
      const { data } = answer.body;
      assert.equal(data.ref, ref);
      assert.equal(data.full_name, 'Zoë Ó Brien');
      assert.deepEqual(
        data.groups.map((one: any) => [one.type, one.ref]),
        [
          ['cohort', 'PROVISION-C'],
          ['course', 'PROVISION-C'],
        ],
      );
      assert.ok(data.expires_at > data.created_at);
      assert.doesNotMatch(answer.text, /zoe@example/);
      assert.doesNotMatch(data.assessment_url, new RegExp(`${ref}|Brien`));
      assertRateHeaders(answer);
      assert.deepEqual((await target.get(`/learners/${ref}`)).body.data.groups, data.groups);
    });

    test('a group that is archived is joined, stays archived, and is named in archived_groups', async () => {
      const ref = freshRef('archived');
      const { data: archived } = (await target.post('/groups', { type: 'cohort', ref, name: 'Of last year' })).body;
      await target.patch(`/groups/${archived.id}`, { active: false });
      const { data } = (
        await provision({
          ref,
          full_name: 'Late Comer',
          groups: [group(), { type: 'cohort', ref, name: 'Of last year' }],
        })
      ).body;
      assert.deepEqual(data.archived_groups, [{ id: archived.id, ref, name: 'Of last year', type: 'cohort' }]);
      assert.deepEqual(
        data.groups.map((one: any) => one.ref),
        ['PROVISION-C'],
      );
      assert.equal((await target.get(`/groups/${archived.id}`)).body.data.active, false);
      await target.patch(`/groups/${archived.id}`, { active: true });
      assert.ok(
        (await target.get(`/learners/${ref}`)).body.data.groups.some((one: any) => one.id === archived.id),
        'the learner is a member once the group is active again',
      );
    });

    test('a name alone: a learner without a reference, each time another', async () => {
      const [one, two] = [
        await provision({ full_name: 'No Reference' }),
        await provision({ full_name: 'No Reference' }),
      ];
      assert.equal(one.status, 201);
      assert.equal(one.body.data.ref, null);
      assert.notEqual(one.body.data.invitation_id, two.body.data.invitation_id);
    });

    test('every type of group but team', async () => {
      const answer = await provision({
        ref: freshRef('types'),
        full_name: 'Of Every Type',
        groups: clientGroupTypes.map((type) => ({ type, ref: 'EVERY', name: `Every ${type}` })),
      });
      assert.equal(answer.status, 201, answer.text);
      assert.deepEqual(answer.body.data.groups.map((one: any) => one.type).sort(), [...clientGroupTypes].sort());
    });

    test('names of many scripts, and at the limits', async () => {
      for (const full_name of [
        '李小龍',
        'Ngọc Ánh',
        'محمد علي',
        'O\u2019Neil-Smith Jr.',
        '🦊 Fox',
        'x',
        'n'.repeat(200),
        `x${'😀'.repeat(199)}`,
      ]) {
        const answer = await provision({ ref: freshRef('script'), full_name });
        assert.equal(answer.status, 201, answer.text);
        assert.equal(answer.body.data.full_name, full_name);
      }
    });

    test('an empty list of groups needs no reference', async () =>
      assert.equal((await provision({ full_name: 'Some One', groups: [] })).status, 201));
  });

  suite('200: the reference exists and its invitation is open', () => {
    test('the same invitation, the new name, groups added and never removed', async () => {
      const ref = freshRef('again');
      const first = await provision({ ref, full_name: 'First Name', groups: [group()] });
      const again = await provision({ ref, full_name: 'Second Name', groups: [group({ type: 'course' })] });
      assert.equal(again.status, 200, again.text);
      assertShape(Type.Object({ data: Provisioned }), again.body);
      for (const same of ['assessment_url', 'invitation_id', 'expires_at', 'created_at', 'ref'])
        assert.equal(again.body.data[same], first.body.data[same]);
      assert.equal(again.body.data.full_name, 'Second Name');
      assert.deepEqual(
        again.body.data.groups.map((one: any) => one.type),
        ['cohort', 'course'],
      );
    });

    test('a group that exists keeps its name', async () => {
      const ref = freshRef('kept');
      await provision({ ref: freshRef('first'), full_name: 'The First', groups: [group({ ref, name: 'Old name' })] });
      const answer = await provision({
        ref: freshRef('second'),
        full_name: 'The Second',
        groups: [group({ ref, name: 'New name' })],
      });
      assert.equal(answer.body.data.groups[0].name, 'Old name');
    });

    test('a repeat changes nothing, not even an ETag', async () => {
      const body = { ref: freshRef('same'), full_name: 'The Same', groups: [group()] };
      await provision(body);
      const before = await Promise.all(['/assessments', '/learners', '/groups'].map((path) => target.get(path)));
      assert.equal((await provision(body)).status, 200);
      const after = await Promise.all(['/assessments', '/learners', '/groups'].map((path) => target.get(path)));
      assert.deepEqual(
        after.map((answer) => answer.headers.etag),
        before.map((answer) => answer.headers.etag),
      );
    });
  });

  suite('400', () => {
    for (const [what, body] of Object.entries({
      empty: '',
      'not JSON': '{full_name:1}',
      'cut off': '{"full_name":"A',
      'two values': '{}{}',
      'a repeated name': '{"full_name":"A B","full_name":"C D"}',
      'a repeated name inside':
        '{"full_name":"A B","ref":"r","groups":[{"ref":"a","\\u0072ef":"b","name":"n","type":"cohort"}]}',
      'a byte order mark': '\uFEFF{}',
      NaN: '{"full_name":NaN}',
    })) {
      test(`invalid_json: ${what}`, async () => assertRefused(await provision(body), 400, 'invalid_json'));
    }
    test('unknown_parameter', async () =>
      assertRefused(await target.post('/learners?dry_run=1', { full_name: 'A B' }), 400, 'unknown_parameter'));
  });

  test(
    '402: insufficient_credits, and nothing is left behind',
    { skip: target.local === null && 'needs an organisation of its own' },
    async () => {
      const { service } = target.local!;
      const poor = await service.organisation({ plan: 'standard', credits: 1 });
      assert.equal((await provision({ ref: 'one', full_name: 'The One' }, poor)).status, 201);
      const before = await poor.get('/groups');
      assertRefused(
        await provision({ ref: 'two', full_name: 'The Two', groups: [group()] }, poor),
        402,
        'insufficient_credits',
      );
      assertRefused(await poor.get('/learners/two'), 404, 'not_found');
      assert.equal((await poor.get('/groups')).headers.etag, before.headers.etag);
      // The open invitation costs nothing again.
      assert.equal((await provision({ ref: 'one', full_name: 'The One Again' }, poor)).status, 200);
      for (const plan of ['education', 'unlimited'] as const) {
        assert.equal(
          (await provision({ full_name: 'Free Of Charge' }, await service.organisation({ plan, credits: 0 }))).status,
          201,
        );
      }
    },
  );

  test(
    '402: credits are spent exactly, whoever comes at once',
    { skip: target.local === null && 'needs an organisation of its own' },
    async () => {
      const poor = await target.local!.service.organisation({ plan: 'standard', credits: 7 });
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, i) =>
          provision({ ref: `l${i}`, full_name: `Learner ${'abcdefghijklmnopqrst'[i]}` }, poor),
        ),
      );
      assert.equal(answers.filter((answer) => answer.status === 201).length, 7);
      for (const refused of answers.filter((answer) => answer.status !== 201))
        assertRefused(refused, 402, 'insufficient_credits');
      assert.equal((await poor.get('/learners')).body.data.length, 7);
    },
  );

  test(
    '409: group_limit_exceeded, before 402, and nothing is left behind',
    { skip: target.local === null && 'needs an organisation of its own' },
    async () => {
      const full = await target.local!.service.organisation({ plan: 'standard', credits: 5 });
      const groups = (n: number, from: number) =>
        Array.from({ length: n }, (_, i) => ({ type: 'class', ref: `G${from + i}`, name: `Group ${from + i}` }));
      for (let from = 0; from < 480; from += 20)
        await provision({ ref: 'filler', full_name: 'The Filler', groups: groups(20, from) }, full);
      assert.equal(
        (await provision({ ref: 'filler', full_name: 'The Filler', groups: groups(15, 480) }, full)).status,
        200,
      );
      const { etag } = (await full.get('/learners')).headers;
      assertRefused(
        await provision({ ref: 'late', full_name: 'The Late', groups: groups(6, 495) }, full),
        409,
        'group_limit_exceeded',
      );
      assertRefused(await full.get('/learners/late'), 404, 'not_found');
      assert.equal((await full.get('/learners')).headers.etag, etag);
      assert.equal((await provision({ ref: 'late', full_name: 'The Late', groups: groups(5, 495) }, full)).status, 201);
      for (let i = 0; i < 3; i++)
        assert.equal((await provision({ ref: `spender-${i}`, full_name: 'The Spender' }, full)).status, 201);
      assertRefused(
        await provision({ ref: 'penniless', full_name: 'The Penniless', groups: groups(1, 500) }, full),
        409,
        'group_limit_exceeded',
      );
      assertRefused(
        await provision({ ref: 'penniless', full_name: 'The Penniless', groups: groups(1, 499) }, full),
        402,
        'insufficient_credits',
      );
    },
  );

  suite('422', () => {
    const ok = () => ({ ref: freshRef('r'), full_name: 'Ana Silva' });
    const faults: Record<string, (() => unknown)[]> = {
      invalid_full_name: [
        () => ({}),
        () => ({ ref: 'a' }),
        ...[
          null,
          1,
          true,
          {},
          [],
          '',
          ' ',
          '\u00a0',
          'two\nlines',
          'tab\there',
          'a\u0000b',
          'n'.repeat(201),
          '\ud800',
          '\u2028',
          '\u200b',
        ].map((full_name) => () => ({ full_name })),
      ],
      invalid_email: [
        '',
        'ana',
        'ana@',
        '@example.org',
        'ana@example',
        'ana @example.org',
        'a@b@example.org',
        'ana@-example.org',
        'ana@example..org',
        '.ana@example.org',
        'ana.@example.org',
        'ana..silva@example.org',
        `${'a'.repeat(65)}@example.org`,
        'Ana <ana@example.org>',
        `${'a'.repeat(250)}@example.org`,
        'ana\u0000@example.org',
        'ana\u0007@example.org',
        '\ud800@example.org',
        null,
        1,
        [],
      ].map((email) => () => ({ ...ok(), email })),
      invalid_ref: [
        '',
        ' ',
        'ana@example.org',
        'Ana Silva',
        'ana.silva',
        'ANA-SILVA',
        'ana/silva',
        '-a',
        '.a',
        '_a',
        ':a',
        '/a',
        'é',
        'a b',
        'a,b',
        'a?b',
        'a%2Fb',
        'a'.repeat(101),
        null,
        1,
        {},
      ].map((ref) => () => ({ ...ok(), ref })),
      invalid_groups: [
        null,
        {},
        'x',
        [null],
        ['x'],
        [[]],
        [{}],
        [group({ ref: undefined })],
        [group({ ref: '' })],
        [group({ ref: 'r'.repeat(101) })],
        [group({ name: '' })],
        [group({ name: 'n'.repeat(201) })],
        [group({ name: 1 })],
        [group({ type: 'gang' })],
        [group({ type: null })],
        [group({ type: 'Cohort' })],
        [group({ id: 'x' })],
        [group(), group({ name: 'Another name' })],
        Array.from({ length: 21 }, (_, i) => group({ ref: `G${i}` })),
      ]
        .map((groups) => () => ({ ...ok(), groups }))
        .concat([() => ({ full_name: 'Ana Silva', groups: [group()] }) as any]),
      unknown_field: [
        () => ({ ...ok(), foo: 1 }),
        () => ({ ...ok(), Ref: 'x' }),
        () => ({ ...ok(), subject: 'maths' }),
        () => `{"full_name":"Ana Silva","__proto__":{"ref":"x"}}`,
        () => `{"full_name":"Ana Silva","constructor":1}`,
        () => ({ ...ok(), groups: [group({ type: 'team' })], foo: 1 }),
      ],
      invalid_body: [() => '[]', () => 'null', () => '1', () => '"x"', () => 'true'],
      team_group_managed: [
        () => ({ ...ok(), groups: [group({ type: 'team' })] }),
        () => ({ ...ok(), groups: [group(), group({ type: 'team' })] }),
      ],
    };
    for (const [code, bodies] of Object.entries(faults)) {
      test(code, async () => {
        for (const body of bodies) assertRefused(await provision(body()), 422, code);
      });
    }

    test('team_group_managed, and nothing is left behind', async () => {
      const body = ok();
      assertRefused(await provision({ ...body, groups: [group({ type: 'team' })] }), 422, 'team_group_managed');
      assertRefused(await target.get(`/learners/${body.ref}`), 404, 'not_found');
    });

    test('National Insurance numbers in every field, in every guise', async () => {
      for (const number of nationalInsuranceNumbers) {
        assertRefused(await provision({ full_name: number }), 422, 'invalid_full_name');
        assertRefused(await provision({ full_name: `Ana ${number}` }), 422, 'invalid_full_name');
        assertRefused(await provision({ full_name: 'Ana Silva', ref: number }), 422, 'invalid_ref');
        assertRefused(await provision({ ...ok(), groups: [group({ ref: number })] }), 422, 'invalid_groups');
        assertRefused(
          await provision({ ...ok(), groups: [group({ name: `Group of ${number}` })] }),
          422,
          'invalid_groups',
        );
      }
      assertRefused(await provision({ ...ok(), email: 'AB123456C@example.org' }), 422, 'invalid_email');
      assertRefused(await provision({ ...ok(), ref: 'AB/12/34/56/C' }), 422, 'invalid_ref');
    });

    test('several faults: the first in the order of the fields', async () => {
      const wrong: Record<string, unknown> = { full_name: '', email: 'x', ref: '-', groups: {}, foo: 1 };
      const codes = ['invalid_full_name', 'invalid_email', 'invalid_ref', 'invalid_groups', 'unknown_field'];
      const names = Object.keys(wrong);
      for (let first = 0; first < names.length; first++) {
        const body = { ...ok(), ...Object.fromEntries(Object.entries(wrong).slice(first).reverse()) };
        assertRefused(await provision(body), 422, codes[first]!);
      }
    });

    test('messages never repeat what was sent', async () => {
      for (const body of [
        { full_name: 'Zebedee AB123456C' },
        { ...ok(), ref: 'zebedee@example.org' },
        { ...ok(), email: 'zebedee' },
        { ...ok(), groups: [{ zebedee: 1 }] },
        { ...ok(), Zebedee: 1 },
        { ...ok(), 'zebedee.q': 1 },
      ]) {
        assert.doesNotMatch((await provision(body)).text, /zebedee|AB123456C/i);
      }
    });

    test(
      'group_autocreate_disabled, and nothing is left behind',
      { skip: target.local === null && 'needs an organisation of its own' },
      async () => {
        const closed = await target.local!.service.organisation({
          plan: 'standard',
          credits: 0,
          groupAutocreate: false,
        });
        assert.equal((await closed.post('/groups', { type: 'cohort', ref: 'KNOWN', name: 'Known' })).status, 201);
        // Before 402: the rule comes first.
        assertRefused(
          await provision(
            { ref: 'x', full_name: 'Ana Silva', groups: [group({ ref: 'KNOWN' }), group({ ref: 'NEW' })] },
            closed,
          ),
          422,
          'group_autocreate_disabled',
        );
        assertRefused(
          await provision({ ref: 'x', full_name: 'Ana Silva', groups: [group({ ref: 'KNOWN' })] }, closed),
          402,
          'insufficient_credits',
        );
        assertRefused(await closed.get('/learners/x'), 404, 'not_found');
        assert.equal((await closed.get('/groups')).body.data.length, 1);
      },
    );
  });
});
