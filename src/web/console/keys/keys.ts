import { type Content, html } from '../../../platform/html/html.ts';
import type { KeyPair, AccessKey } from '../../../integrations/access-keys/keys.ts';
import {
  createKey,
  findKey,
  keyIdFrom,
  listKeys,
  revokeKey,
  rollKey,
  statusOf,
} from '../../../integrations/access-keys/keys.ts';
import { testLine } from '../../../integrations/access-keys/link-page.ts';
import { readonlyField } from '../kit/form.ts';
import type { Answer, Visit, ConsoleRoute } from '../kit/route.ts';
import { createOnce, again, NoSuchPage, get, formRoutes, onceOf, routesOf } from '../kit/route.ts';
import { type CallHour, callsByHour } from '../../../platform/audit/log.ts';
import { moment, number, day, facts, notice, code, withLocalTimes, label } from '../kit/blocks.ts';
import { receiptPdf } from '../../../integrations/access-keys/receipt.ts';
import { type ScopeInWords, scopeInWords, whatStays } from '../../../integrations/access-keys/scope-words.ts';
import { type StoredUse, usesOf } from '../../../integrations/access-keys/key-uses.ts';
import { limits } from '../../../platform/config/limits.ts';
import { name } from '../kit/frame.ts';
import { looksForGroups } from '../kit/group-field.ts';
import { describedFields, readDescribed, linkTable } from './key-links.ts';
import { dayOf, lastInstantOf } from '../../../organisations/zone.ts';
import { integrators } from '../../../organisations/users/roles.ts';
import { listPage, formPage, confirmPage } from '../kit/page.ts';
import { bar, table, numeric, plain } from '../kit/table.ts';

const ofKey = routesOf(keyOf);
export const keyRoutes: ConsoleRoute[] = [
  get('/keys', integrators, keys, { menu: 'Keys', section: 'integration' }),
  ...formRoutes('/keys/create', integrators, createPage, create, { proof: true }),
  ofKey.get('/keys/{key_id}', integrators, key),
  ofKey.get('/keys/{key_id}/receipt', integrators, receipt),
  ...ofKey.form('/keys/{key_id}/roll', integrators, rollPage, roll, {
    proof: true,
  }),
  ...ofKey.form('/keys/{key_id}/revoke', integrators, showRevoke, revoke, { proof: true }),
];

function state(one: AccessKey, nowMs: number, zone: string): Content {
  const status = statusOf(one, nowMs);
  if (status === 'revoked') return html`${label('off', 'Revoked')} on ${day(one.revoked_at!, zone)}`;
  if (status === 'expired') return html`${label('off', 'Ended')} on ${day(one.expires_at!, zone)}`;
  const active = label('good', 'Active');
  return one.expires_at === null ? active : html`${active} until ${day(one.expires_at, zone)}`;
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
  return listPage<AccessKey>(visit, {
    title: 'Keys',
    says: 'Each platform signs in with its own access key. The list shows what a key sees and its last use.',
    actions: html`<a href="${base}/key-links/create">Create set-up link</a><a class="button" href="${base}/keys/create">Create key</a>`,
    intro: [
      notice(query, {
        revoked: 'The key is revoked. The next request with it is refused.',
        'link-revoked': 'The set-up link is revoked. It no longer works.',
      }),
    ],
    caption: 'Keys, newest first',
    none: 'There is no key yet. Each platform that reads your results needs one. Create a key.',
    rows: (await listKeys(app.db, id)).toReversed(),
    columns: {
      Key: (one) =>
        html`<a href="${base}/keys/${one.key_id}">${one.label ?? one.key_id}</a>${one.label === null ? null : html` <span class="hint">${one.key_id}</span>`}`,
      State: (one) => state(one, nowMs, zone),
      Sees: plain(sees),
      'Last used': plain((one) => (one.last_used_ms === null ? 'Never used' : lastUse(one, zone))),
    },
    also: await linkTable(visit),
  });
}

/** A key of another organisation gets the same 404 as an unknown key. */
async function keyOf({ app, organisationId, params }: Visit): Promise<AccessKey> {
  const found = await findKey(app.db, organisationId, params.key_id!);
  if (found === undefined) throw new NoSuchPage();
  return found;
}

const scopeOf = ({ app, organisationId }: Visit, one: AccessKey): Promise<ScopeInWords> =>
  scopeInWords(app.db, organisationId, {
    groupIds: one.group_ids ?? [],
    subjects: one.subjects ?? [],
    networks: one.networks ?? [],
  });

const keyLink = (base: string, keyId: string | null): Content =>
  keyId && html`<a href="${base}/keys/${keyId}">${keyId}</a>`;

async function key(visit: Visit, one: AccessKey): Promise<Answer> {
  const { app, base, organisationId: id, zone } = visit;
  const here = `${base}/keys/${one.key_id}`;
  const [scope, places, requests] = await Promise.all([
    scopeOf(visit, one),
    usesOf(app.db, id, one.key_id),
    keyHours(visit, one.key_id),
  ]);
  const isActive = statusOf(one, app.clock.nowMs()) === 'active';
  const isReplaced = one.replaced_by !== null;
  return {
    title: 'Key',
    heading: name(one.label ?? one.key_id),
    back: { to: `${base}/keys`, label: 'Keys' },
    main: [
      facts({
        'Access key ID': code(one.key_id),
        State: state(one, app.clock.nowMs(), zone),
        Purpose: one.purpose ?? 'Not recorded',
        Contact: one.contact ?? 'Not recorded',
        Created: moment(one.created_at, zone),
        'Last used': lastUse(one, zone),
        Replaces: keyLink(base, one.replaces),
        'Replaced by': keyLink(base, one.replaced_by),
      }),
      isReplaced &&
        isActive &&
        html`<div class="note"><p>Last request with this key: ${lastUse(one, zone)}. When the platform uses the new key, revoke this key.</p></div>`,
      html`<div class="actions">${isActive && [!isReplaced && html`<a class="button" href="${here}/roll">Rotate key</a>`, html`<a class="danger" href="${here}/revoke">Revoke key</a>`]}<a href="${here}/receipt">Receipt (PDF)</a></div>
<h2>Access of this key</h2><ul>${scope.may.map((sentence) => html`<li>${sentence}</li>`)}</ul>`,
      groupList(scope),
      html`
<h2>The last 24 hours</h2>${requests}<h2>Where it was used</h2>`,
      table<StoredUse>({ caption: 'Latest networks and clients', none: 'The key has not been used yet.' }, places, {
        Network: (place) => place.network || 'Not known',
        Client: (place) => place.client || 'Not named',
        First: (place) => moment(place.first_at, zone),
        Last: (place) => moment(place.last_at, zone),
      }),
    ],
  };
}

function groupList({ groups }: ScopeInWords): Content {
  if (groups.length === 0) return null;
  return html`<ul>${groups.map((group) => html`<li>${name(group.name)} <span class="hint">${group.type} ${group.ref}${group.active ? '' : ', archived'}</span></li>`)}</ul>`;
}

async function receipt(visit: Visit, key: AccessKey): Promise<Answer> {
  const body = receiptPdf({
    organisationName: visit.organisation.name,
    key,
    visibility: await scopeOf(visit, key),
    nowMs: visit.app.clock.nowMs(),
  });
  return { file: { type: 'application/pdf', name: `${key.key_id}.pdf`, body } };
}

async function createPage(visit: Visit): Promise<Answer> {
  const described = await describedFields(visit);
  return formPage(visit, {
    title: 'Create key',
    says: 'Create one key for each platform that reads your results. Its secret is shown once.',
    back: { to: `${visit.base}/keys`, label: 'Keys' },
    button: 'Create key',
    fields: (f) => [described, f.once(visit.app)],
  });
}

async function create(visit: Visit) {
  const { app, organisationId: id } = visit;
  if (looksForGroups(visit.form)) return again();
  const read = await readDescribed(visit);
  if ('faults' in read) return again(read.faults);
  // The form contains the ID of the key, so a form that is sent twice creates one key and shows its secret once.
  const keyId = keyIdFrom(app.secrets.mac('key_link', `form ${id} ${onceOf(visit)}`, 12));
  const pair = await createOnce(visit, keyId, findKey, (work) => createKey(work, id, { ...read.description, keyId }));
  return shownPair(visit, keyId, pair?.made ?? null, 'The key is created');
}

function rollPage(visit: Visit, one: AccessKey): Answer {
  const { app, base, zone } = visit;
  const usual = dayOf(new Date(app.clock.nowMs() + limits.keyOverlapMs), zone);
  return formPage(visit, {
    title: 'Rotate key',
    heading: html`Rotate key ${name(one.label ?? one.key_id)}`,
    back: { to: `${base}/keys/${one.key_id}`, label: 'Key' },
    intro: html`<p>The new key has the same access. Both keys work until the end of the day that you choose. After that, requests with the old key are refused.</p><p>Last request with the old key: ${lastUse(one, zone)}.</p>`,
    button: 'Rotate key',
    fields: (f) => f.text('until', 'Last day of the old key', { type: 'date', initial: usual }),
  });
}

async function roll(visit: Visit, one: AccessKey) {
  const { app, organisation, organisationId: id, zone, form: sent, change } = visit;
  const until = lastInstantOf(sent.text('until'), zone);
  if (until === null || until.getTime() <= app.clock.nowMs())
    return again({
      until: 'The last day is in the past or is not a date. Choose today or a later day, such as 2027-01-31.',
    });
  const rolled = await change(
    (work) => rollKey(work, id, one.key_id, { until, kind: organisation.is_test ? 'test' : 'live' }),
    (result) => typeof result !== 'string' && result.pair.access_key_id,
  );
  if (rolled === 'unknown') throw new NoSuchPage();
  if (rolled === 'ended') return again({ until: 'This key has ended. Create a new key instead.' });
  if (rolled === 'rolled') return shownPair(visit, (await keyOf(visit)).replaced_by!, null, 'The key is rotated');
  return shownPair(visit, rolled.pair.access_key_id, rolled.pair, 'The key is rotated', [
    html`The old key, ${one.key_id}, works until ${moment(rolled.old.expires_at!, zone)}. Its page shows its last request.`,
  ]);
}

async function showRevoke(visit: Visit, one: AccessKey): Promise<Answer> {
  const { base, zone } = visit;
  return confirmPage(visit, {
    title: 'Revoke key?',
    heading: html`Revoke key ${name(one.label ?? one.key_id)}?`,
    back: { to: `${base}/keys/${one.key_id}` },
    says: [
      'The next request with 1 key is refused. This can’t be undone.',
      html`Last used: ${lastUse(one, zone)}.`,
      withLocalTimes(whatStays(one), zone),
    ],
    button: 'Revoke key',
  });
}

async function revoke(visit: Visit, { key_id: keyId }: AccessKey): Promise<Answer> {
  const { base, organisationId, change } = visit;
  await change((work) => revokeKey(work, organisationId, keyId).then(() => keyId));
  return { to: `${base}/keys?did=revoked` };
}

/** @param pair null if the form was sent twice: the first response has shown the secret */
export function shownPair(
  { app, base }: Visit,
  keyId: string,
  pair: KeyPair | null,
  title: string,
  also: readonly Content[] = [],
): Answer {
  const secret =
    pair === null
      ? html`<p>The secret was shown when the key was created. If the secret is lost, revoke the key and create a new key.</p>`
      : html`<p>Copy the ID and the secret now: <strong>the secret is not shown again.</strong></p>${readonlyField('id', 'Access key ID', pair.access_key_id)}${readonlyField('secret', 'Secret access key', pair.secret_access_key)}<h2>Test the key</h2><p>Paste this line into a terminal. The response is <code>{"status":"ok", …}</code>.</p><pre tabindex="0"><code>${testLine(app.settings.baseUrl, pair)}</code></pre>`;
  return {
    title,
    back: { to: `${base}/keys/${keyId}`, label: 'Key' },
    main: html`${also.map((sentence) => html`<p>${sentence}</p>`)}${secret}`,
  };
}

const hoursShown = 24;
const hourMs = 3600_000;

export const totalOf = (one: CallHour) => one.answered + one.unchanged + one.refused + one.limited + one.failed;
const share = (part: number, whole: number) =>
  html`${whole === 0 ? '0 %' : `${Math.round((100 * part) / whole)} %`}${bar(part, whole)}`;

/** A table of a key's requests by hour: the share of 304 responses, and how much of the rate limit is unused. */
export async function keyHours({ app, organisationId: id, zone }: Visit, keyId: string): Promise<Content> {
  const nowMs = app.clock.nowMs();
  const rows = await callsByHour(app.db, id, {
    actor: keyId,
    from: new Date(nowMs - hoursShown * hourMs),
    // The period ends 1 hour from now, because a process with a fast clock may log rows in the future.
    to: new Date(nowMs + hourMs),
  });
  const hourlyLimit = app.settings.rateLimit * 60;
  const caption = `Requests by hour. The limit is ${app.settings.rateLimit} per minute.`;
  const max = Math.max(...rows.map(totalOf));
  return table<CallHour>({ caption, none: 'No request in the last 24 hours.' }, rows, {
    'Hour from': (one) => moment(one.hour, zone),
    Requests: numeric((one) => html`${number(totalOf(one))}${bar(totalOf(one), max)}`),
    Succeeded: numeric((one) => one.answered),
    Refused: numeric((one) => one.refused),
    'Over the limit': numeric((one) => one.limited),
    'Server errors': numeric((one) => one.failed),
    'Unchanged (304)': numeric((one) => share(one.unchanged, totalOf(one))),
    'Left of the limit': numeric((one) => share(Math.max(0, hourlyLimit - totalOf(one)), hourlyLimit)),
  });
}
