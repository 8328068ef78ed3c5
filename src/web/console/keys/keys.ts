import type { Content } from '../../../platform/html/html.ts';
import { html } from '../../../platform/html/html.ts';
import type { AccessKey } from '../../../integrations/access-keys/keys.ts';
import {
  createKey,
  findKey,
  keyIdFrom,
  listKeys,
  revokeKey,
  rollKey,
  statusOf,
} from '../../../integrations/access-keys/keys.ts';
import { receiptPdf } from '../../../integrations/access-keys/receipt.ts';
import type { ScopeInWords } from '../../../integrations/access-keys/scope-words.ts';
import { scopeInWords, whatStays } from '../../../integrations/access-keys/scope-words.ts';
import type { StoredUse } from '../../../integrations/access-keys/key-uses.ts';
import { usesOf } from '../../../integrations/access-keys/key-uses.ts';
import { limits } from '../../../platform/config/limits.ts';
import { confirmPage, day, facts, moment, notice, table, told } from '../kit/blocks.ts';
import type { Faults } from '../kit/form.ts';
import { fieldsOf } from '../kit/form.ts';
import { name } from '../kit/frame.ts';
import { looksForGroups } from '../kit/group-field.ts';
import { keyHours } from './key-hours.ts';
import { describedFields, readDescribed } from './key-form.ts';
import { linkTable } from './key-links.ts';
import { shownPair } from './created-key.ts';
import type { Acted, Answer, ConsoleRoute, Visit } from '../kit/route.ts';
import { NoSuchPage, get, formRoutes, onceOf } from '../kit/route.ts';
import { dayOf, lastInstantOf } from '../../../organisations/zone.ts';
import { integrators } from '../../../organisations/users/roles.ts';

export const keyRoutes: ConsoleRoute[] = [
  get('/keys', integrators, keys, { menu: 'Keys', section: 'integration' }),
  ...formRoutes('/keys/create', integrators, createPage, create, { proof: true }),
  get('/keys/{key_id}', integrators, key),
  get('/keys/{key_id}/receipt', integrators, receipt),
  ...formRoutes('/keys/{key_id}/roll', integrators, async (visit) => rollPage(visit, await keyOf(visit)), roll, {
    proof: true,
  }),
  ...formRoutes('/keys/{key_id}/revoke', integrators, showRevoke, revoke, { proof: true }),
];

function state(one: AccessKey, nowMs: number, zone: string): Content {
  const status = statusOf(one, nowMs);
  if (status === 'revoked') return html`Revoked on ${day(one.revoked_at!, zone)}`;
  if (status === 'expired') return html`Ended on ${day(one.expires_at!, zone)}`;
  return one.expires_at === null ? 'Active' : html`Active until ${moment(one.expires_at, zone)}`;
}

function lastUse(one: AccessKey, zone: string): Content {
  if (one.last_used_ms === null) return 'Never';
  const where = [one.last_network, one.last_client].filter((part) => part !== null && part !== '').join(', ');
  return html`${moment(new Date(one.last_used_ms), zone)}${where === '' ? null : html` <span class="hint">${where}</span>`}`;
}

function sees({ group_ids: groupIds, subjects }: AccessKey): string {
  if (groupIds === null && subjects === null) return 'Everything';
  const groups = groupIds === null ? '' : groupIds.length === 1 ? '1 group' : `${groupIds.length} groups`;
  return [groups, subjects?.join(', ') ?? ''].filter((part) => part !== '').join('; ');
}

async function keys(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, zone, query } = visit;
  const nowMs = app.clock.nowMs();
  const rows = (await listKeys(app.db, id)).toReversed();
  return {
    title: 'Access keys',
    says: 'What each platform proves itself with, what it may see, and when it was used last.',
    main: html`${notice(query, {
      revoked: 'The key is revoked. The next request with it is refused.',
      'link-revoked': 'The link is taken back. It opens nothing any more.',
    })}<div class="actions"><a class="button" href="${base}/keys/create">Create a key</a><a href="${base}/key-links/create">Let a vendor make its key</a></div>${table<AccessKey>(
      { caption: 'The newest first', none: 'There is no key yet. Whoever reads your results needs one.' },
      rows,
      {
        Key: (one) =>
          html`<a href="${base}/keys/${one.key_id}">${one.label ?? one.key_id}</a>${one.label === null ? null : html` <span class="hint">${one.key_id}</span>`}`,
        State: (one) => state(one, nowMs, zone),
        Sees: sees,
        'Last used': (one) => lastUse(one, zone),
      },
    )}${await linkTable(visit)}`,
  };
}

/** Keys of other organisations are the same 404 as unknown ones. */
async function keyOf({ app, organisationId, params }: Visit): Promise<AccessKey> {
  const found = await findKey(app.db, organisationId, params.key_id!);
  if (found === undefined) throw new NoSuchPage();
  return found;
}

function visibilityOf({ app, organisationId }: Visit, one: AccessKey): Promise<ScopeInWords> {
  return scopeInWords(app.db, organisationId, {
    groupIds: one.group_ids ?? [],
    subjects: one.subjects ?? [],
    networks: one.networks ?? [],
  });
}

const keyLink = (base: string, keyId: string) => html`<a href="${base}/keys/${keyId}">${keyId}</a>`;

async function key(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, zone } = visit;
  const one = await keyOf(visit);
  const here = `${base}/keys/${one.key_id}`;
  const [visibility, places, requests] = await Promise.all([
    visibilityOf(visit, one),
    usesOf(app.db, id, one.key_id),
    keyHours(visit, one.key_id),
  ]);
  const active = statusOf(one, app.clock.nowMs()) === 'active';
  return {
    title: 'Access key',
    heading: name(one.label ?? one.key_id),
    back: { to: `${base}/keys`, label: 'Access keys' },
    main: html`${facts({
      'Access key id': html`<code>${one.key_id}</code>`,
      State: state(one, app.clock.nowMs(), zone),
      Purpose: one.purpose ?? 'Not recorded',
      Contact: one.contact ?? 'Not recorded',
      Made: moment(one.created_at, zone),
      'Last used': lastUse(one, zone),
      Replaces: one.replaces === null ? null : keyLink(base, one.replaces),
      'Replaced by': one.replaced_by === null ? null : keyLink(base, one.replaced_by),
    })}${
      one.replaced_by !== null && active
        ? html`<div class="note"><p>The last request with this key was: ${lastUse(one, zone)}. Once nobody uses it any more, revoke it.</p></div>`
        : null
    }<div class="actions">${
      active
        ? html`${one.replaced_by === null ? html`<a class="button" href="${here}/roll">Roll this key</a>` : null}<a href="${here}/revoke">Revoke this key</a>`
        : null
    }<a href="${here}/receipt">Receipt (PDF)</a></div>
<h2>What it may see and do</h2><ul>${visibility.may.map((sentence) => html`<li>${sentence}</li>`)}</ul>${groupList(visibility)}
<h2>The last 24 hours</h2>${requests}<h2>Where it was used</h2>${table<StoredUse>(
      { caption: 'The latest places: networks and clients', none: 'Nowhere yet.' },
      places,
      {
        Network: (place) => place.network || 'Not known',
        Client: (place) => place.client || 'Not named',
        First: (place) => moment(place.first_at, zone),
        Last: (place) => moment(place.last_at, zone),
      },
    )}`,
  };
}

function groupList({ groups }: ScopeInWords): Content {
  if (groups.length === 0) return null;
  return html`<ul>${groups.map((group) => html`<li>${name(group.name)} <span class="hint">${group.type} ${group.ref}${group.active ? '' : ', archived'}</span></li>`)}</ul>`;
}

async function receipt(visit: Visit): Promise<Answer> {
  const one = await keyOf(visit);
  const body = receiptPdf({
    organisationName: visit.organisation.name,
    key: one,
    visibility: await visibilityOf(visit, one),
    nowMs: visit.app.clock.nowMs(),
  });
  return { file: { type: 'application/pdf', name: `${one.key_id}.pdf`, body } };
}

async function createPage(visit: Visit, faults: Faults = {}): Promise<Answer> {
  const f = fieldsOf(visit, faults);
  const cancel = `${visit.base}/keys`;
  return {
    title: 'Create a key',
    says: 'One for each platform that reads your results. Its secret is shown once.',
    back: { to: cancel, label: 'Access keys' },
    faults,
    main: f.form('Create the key and show its secret', { cancel }, [
      await describedFields(visit, faults),
      f.once(visit.app),
    ]),
  };
}

async function create(visit: Visit): Promise<Answer> {
  const { app, organisationId: id, change } = visit;
  if (looksForGroups(visit.form)) return createPage(visit);
  const read = await readDescribed(visit);
  if ('faults' in read) return createPage(visit, read.faults);
  const once = onceOf(visit);
  if (once === null) throw new NoSuchPage();
  // The form carries the ID of the key: sent twice, it makes one key and shows the secret once.
  const keyId = keyIdFrom(app.secrets.mac('key_link', `form ${id} ${once}`, 12));
  const pair = await change(async (work) => {
    if ((await findKey(work.tx, id, keyId)) !== undefined) return { result: null };
    return { result: await createKey(work, id, { ...read.description, keyId }), resource: keyId };
  });
  return shownPair(visit, keyId, pair, 'The key is made');
}

async function rollPage(visit: Visit, one: AccessKey, faults: Faults = {}): Promise<Answer> {
  const { app, base, zone } = visit;
  const f = fieldsOf(visit, faults);
  const here = `${base}/keys/${one.key_id}`;
  const usual = dayOf(new Date(app.clock.nowMs() + limits.keyOverlapMs), zone);
  return {
    title: 'Roll an access key',
    heading: html`Roll ${name(one.label ?? one.key_id)}`,
    back: { to: here, label: 'The key' },
    faults,
    main: html`<p>A new key is made that may do exactly the same. Both work until the end of the day that you choose; then the old one is refused.</p><p>Last request with the old key: ${lastUse(one, zone)}.</p>${f.form('Make the new key and show its secret', { cancel: here }, f.text('until', 'Last day of the old key', { type: 'date', initial: usual }))}`,
  };
}

async function roll(visit: Visit): Promise<Answer> {
  const { app, organisation, organisationId: id, zone, form: sent, change } = visit;
  const one = await keyOf(visit);
  const until = lastInstantOf(sent.text('until'), zone);
  if (until === null || until.getTime() <= app.clock.nowMs())
    return rollPage(visit, one, { until: 'Choose a day from today on, such as 2027-01-31.' });
  const rolled = await change(async (work): Promise<Acted<Awaited<ReturnType<typeof rollKey>>>> => {
    const result = await rollKey(work, id, one.key_id, { until, kind: organisation.is_test ? 'test' : 'live' });
    return typeof result === 'string' ? { result } : { result, resource: result.pair.access_key_id };
  });
  if (rolled === 'unknown') throw new NoSuchPage();
  if (rolled === 'ended') return rollPage(visit, one, { until: 'This key has ended: create a new one instead.' });
  if (rolled === 'rolled') {
    const { replaced_by: next } = await keyOf(visit);
    return shownPair(visit, next!, null, 'The new key is made');
  }
  return shownPair(visit, rolled.pair.access_key_id, rolled.pair, 'The new key is made', [
    html`The old key, ${one.key_id}, works until ${moment(rolled.old.expires_at!, zone)}. Its page shows the last request with it.`,
  ]);
}

async function showRevoke(visit: Visit): Promise<Answer> {
  const { base, zone } = visit;
  const one = await keyOf(visit);
  return confirmPage(visit, {
    title: 'Revoke an access key?',
    heading: html`Revoke ${name(one.label ?? one.key_id)}?`,
    says: [
      'The next request with it is refused. That cannot be undone.',
      html`Last used: ${lastUse(one, zone)}.`,
      told(whatStays(one), zone),
    ],
    button: 'Revoke this key',
    cancel: `${base}/keys/${one.key_id}`,
  });
}

async function revoke(visit: Visit): Promise<Answer> {
  const { base, organisationId, change } = visit;
  const { key_id: keyId } = await keyOf(visit);
  await change(async (work) => ({ result: await revokeKey(work, organisationId, keyId), resource: keyId }));
  return { to: `${base}/keys?did=revoked` };
}
