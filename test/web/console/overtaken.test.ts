import assert from 'node:assert/strict';
import { request } from 'node:http';
import { suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { App } from '../../../src/platform/app.ts';
import { feedQueue, withUnitOfWork } from '../../../src/platform/db/unit-of-work.ts';
import { changeMember } from '../../../src/organisations/users/members.ts';
import { endSessions } from '../../../src/organisations/users/sessions.ts';
import { withService } from '../../support/service.ts';
import type { Person } from './visitor.ts';
import { personOf } from './visitor.ts';

/** Who loses their role while a form of theirs is on its way does nothing with it. */

let looks = 0;

/** Counts how often somebody's session was looked for. */
function listen({ db }: App): void {
  const { query } = db;
  db.query = (sql, values) => {
    if (typeof sql !== 'string' && sql.name === 'session.find') looks++;
    return query(sql, values);
  };
}

const service = await withService({ own: 'Watches the app as it starts.', prepare: listen });

async function until(met: () => boolean): Promise<void> {
  for (let n = 0; !met(); n++) {
    assert.ok(n < 1000, 'it does not come');
    await delay(10);
  }
}

/** Sends a form whose body arrives after `meanwhile`. */
async function slowly(person: Person, path: string, fields: Record<string, string>, meanwhile: () => Promise<unknown>) {
  const body = new URLSearchParams(fields).toString();
  const before = looks;
  const sent = request(`${service.url}${path}`, {
    method: 'POST',
    headers: {
      cookie: person.cookie!,
      'sec-fetch-site': 'same-origin',
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': body.length,
    },
  });
  const answered = new Promise<{ status: number; to: string | undefined }>((resolve, reject) => {
    sent.on('error', reject);
    sent.on('response', (response) => {
      response.resume();
      resolve({ status: response.statusCode!, to: response.headers.location?.split('?')[0] });
    });
  });
  sent.flushHeaders();
  await until(() => looks > before);
  await meanwhile();
  sent.end(body);
  return answered;
}

/** Sends a form that waits for its turn until `meanwhile` is over. */
async function inLine(
  person: Person,
  org: { id: number },
  path: string,
  fields: Record<string, string>,
  meanwhile: () => Promise<unknown>,
) {
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const turn = withUnitOfWork(service.app, feedQueue(org.id), async () => {
    begun.resolve();
    await gate.promise;
  });
  await begun.promise;
  const before = looks;
  const answered = person.post(path, fields);
  await until(() => looks >= before + 2);
  // From there to its turn it waits for nothing else.
  await delay(50);
  await meanwhile();
  gate.resolve();
  await turn;
  return answered;
}

const invited = async (organisationId: number) =>
  (
    await service.app.db.query<{ count: number }>('select count(*) from user_invitation where organisation_id = $1', [
      organisationId,
    ])
  )[0]!.count;

const fields = { email: 'new@college.example', role: 'admin' };

const losses: [string, (organisationId: number, userId: string) => Promise<unknown>][] = [
  [
    'was removed',
    (id, userId) => service.withUnitOfWork((work) => changeMember(work, id, userId, { to: null, by: 'owner' })),
  ],
  [
    'was given less',
    (id, userId) => service.withUnitOfWork((work) => changeMember(work, id, userId, { to: 'tutor', by: 'owner' })),
  ],
  ['was signed out', (_, userId) => service.withUnitOfWork((work) => endSessions(work, userId))],
];

suite('a form of somebody who meanwhile', () => {
  for (const [what, lose] of losses)
    test(`${what} does nothing`, async () => {
      const org = await service.organisation();
      const path = `/console/${org.publicId}/people/invite`;
      await personOf(service, org.id, 'owner');
      const ana = await personOf(service, org.id, 'admin');
      const late = await slowly(ana, path, fields, () => lose(org.id, ana.userId));
      assert.deepEqual(late, { status: 303, to: '/console/sign-in' });
      const bo = await personOf(service, org.id, 'admin');
      const last = await inLine(bo, org, path, fields, () => lose(org.id, bo.userId));
      assert.equal(last.status, 404);
      assert.equal(await invited(org.id), 0);
      // Nor does a page show what they may not see any more.
      const cy = await personOf(service, org.id, 'admin');
      const search = `/console/${org.publicId}/learners`;
      const found = await slowly(cy, search, { name: 'Ana' }, () => lose(org.id, cy.userId));
      assert.deepEqual(found, { status: 303, to: '/console/sign-in' });
    });
});
