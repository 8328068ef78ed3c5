import type { App } from '../src/app.ts';
import { boundsText } from '../src/bounds.ts';
import type { Tx } from '../src/db/database.ts';
import type { KeyDescription, KeyFault } from '../src/keys/description.ts';
import { readDescription } from '../src/keys/description.ts';
import type { AccessKey } from '../src/keys/keys.ts';
import { createKey, findKey, listKeys, revokeKey, rollKey, statusOf } from '../src/keys/keys.ts';
import { isEmailAddress } from '../src/email.ts';
import { testLine } from '../src/keys/link-page.ts';
import { linkStatus, linkUrl, listLinks, mailLink, offerKey, revokeLink } from '../src/keys/link.ts';
import { receiptPdf } from '../src/keys/receipt.ts';
import { sightInWords, whatStays } from '../src/keys/sight.ts';
import { limits } from '../src/limits.ts';
import { isUuid } from '../src/uuid.ts';
import type { Call, Command } from './command.ts';
import { Failure, Misuse } from './command.ts';
import { writeWhole } from './in-place.ts';
import {
  act,
  missing,
  needsMailServer,
  numberOption,
  option,
  operator,
  organisationOf,
  requiredOption,
  table,
  timeOption,
  unknownKey,
  withApp,
} from './open.ts';

/** What describes a key that is to be made. */
const described = {
  organisation: { type: 'string' },
  label: { type: 'string' },
  purpose: { type: 'string' },
  contact: { type: 'string' },
  expires: { type: 'string' },
  network: { type: 'string', multiple: true },
  group: { type: 'string', multiple: true },
  subject: { type: 'string', multiple: true },
  test: { type: 'boolean' },
} as const;
const describedUsage =
  '[--label L] [--purpose P] [--contact C] [--expires DATE-TIME] [--network CIDR]… [--group ID]… [--subject S]… [--test]';

const optionOf: Record<KeyFault['field'], string> = {
  label: 'label',
  purpose: 'purpose',
  contact: 'contact',
  expires: 'expires',
  networks: 'network',
  groups: 'group',
  subjects: 'subject',
};

/** Every value of an option that may be given several times, or once with commas between. */
function several(call: Call, name: string): string[] {
  const given = call.options[name];
  const texts = Array.isArray(given) ? given : given === undefined ? [] : [given];
  return texts.flatMap((text) => String(text).split(',')).map((text) => text.trim());
}

/** @throws Misuse that names the first option that isn't what was expected */
async function readOptions(app: App, tx: Tx, organisationId: number, call: Call): Promise<KeyDescription> {
  for (const name of ['label', 'purpose', 'contact', 'expires'])
    if (option(call, name) === '') throw new Misuse(`--${name} must not be empty`);
  const read = await readDescription(
    tx,
    organisationId,
    {
      label: option(call, 'label') ?? '',
      purpose: option(call, 'purpose') ?? '',
      contact: option(call, 'contact') ?? '',
      test: call.options.test === true,
      expires: option(call, 'expires') ?? '',
      networks: several(call, 'network'),
      groups: several(call, 'group'),
      subjects: several(call, 'subject'),
    },
    app.clock.nowMs(),
  );
  if ('description' in read) return read.description;
  const [fault] = read.faults;
  throw new Misuse(`--${optionOf[fault!.field]} ${fault!.expected}`);
}

function lastUse(key: AccessKey): string {
  if (key.last_used_ms === null) return 'never';
  const where = [key.last_network, key.last_client].filter((part) => part !== null && part !== '').join(' by ');
  return `${new Date(key.last_used_ms).toISOString()}${where === '' ? '' : ` from ${where}`}`;
}

function keyJson(key: AccessKey, nowMs: number) {
  return {
    access_key_id: key.key_id,
    label: key.label,
    purpose: key.purpose,
    contact: key.contact,
    status: statusOf(key, nowMs),
    created_at: key.created_at.toISOString(),
    expires_at: key.expires_at?.toISOString() ?? null,
    revoked_at: key.revoked_at?.toISOString() ?? null,
    networks: key.networks,
    group_ids: key.group_ids,
    subjects: key.subjects,
    last_used_at: key.last_used_ms === null ? null : new Date(key.last_used_ms).toISOString(),
    last_used_from: key.last_network,
    last_used_by: key.last_client,
    replaces: key.replaces,
    replaced_by: key.replaced_by,
  };
}

/** What a key is bound to, for a table. */
function boundsOf({ group_ids: groupIds, subjects }: AccessKey): string {
  return groupIds === null && subjects === null
    ? 'everything'
    : boundsText({ groupIds, subjects }).trim().replace('\n', ' ');
}

export const commands: Command[] = [
  {
    name: 'key create',
    usage: `--organisation ID ${describedUsage}`,
    summary: 'Create a key pair, with groups or subjects as its bounds; its secret is shown this once',
    options: described,
    run: (call) =>
      withApp(async (app) => {
        const found = await organisationOf(app, requiredOption(call, 'organisation'));
        const pair = await act(app, found.organisation_id, 'key create', async (work) => {
          const description = await readOptions(app, work.tx, found.organisation_id, call);
          const made = await createKey(work, found.organisation_id, description);
          return { result: made, resource: made.access_key_id };
        });
        return {
          json: pair,
          text: `${table([
            ['access_key_id', pair.access_key_id],
            ['secret_access_key', pair.secret_access_key],
          ])}\n\nThe secret is not shown again. Try the pair:\n${testLine(app.settings.baseUrl, pair)}`,
        };
      }),
  },
  {
    name: 'key link',
    usage: `--organisation ID ${describedUsage} [--minutes N] [--email E]`,
    summary: 'Make a link by which a vendor creates this one key, once, and alone sees its secret; --email mails it',
    options: { ...described, minutes: { type: 'string' }, email: { type: 'string' } },
    run: (call) =>
      withApp(async (app) => {
        const address = option(call, 'email');
        if (address !== undefined && !isEmailAddress(address))
          throw new Misuse('--email must be an e-mail address, such as name@example.org');
        if (address !== undefined) needsMailServer(app);
        const found = await organisationOf(app, requiredOption(call, 'organisation'));
        const lastsMs =
          numberOption(call, 'minutes', limits.keyLinkMs / 60_000, 1, limits.keyLinkMostMs / 60_000) * 60_000;
        const { linkId, mailed } = await act(app, found.organisation_id, 'key link', async (work) => {
          const description = await readOptions(app, work.tx, found.organisation_id, call);
          const made = await offerKey(work, found.organisation_id, description, { createdBy: operator, lastsMs });
          const given = { linkId: made, organisation: found.name, expiresMs: work.nowMs + lastsMs };
          const sent = address !== undefined && (await mailLink(work, found.organisation_id, { ...given, address }));
          return { result: { linkId: made, mailed: sent }, resource: made };
        });
        const url = linkUrl(app.settings.baseUrl, app.secrets, found.organisation_id, linkId);
        return {
          json: { link_id: linkId, url, minutes: lastsMs / 60_000, mailed },
          text: `${url}\n\nIt works once, for ${lastsMs / 60_000} minutes.${mailed ? ' It is on its way by e-mail, too.' : ''} To take it back: ars key unlink --organisation ${found.public_id} ${linkId}`,
        };
      }),
  },
  {
    name: 'key links',
    usage: '--organisation ID',
    summary: 'List the latest set-up links and what became of them',
    options: { organisation: { type: 'string' } },
    run: (call) =>
      withApp(async (app) => {
        const found = await organisationOf(app, requiredOption(call, 'organisation'));
        const nowMs = app.clock.nowMs();
        const links = (await listLinks(app.db, found.organisation_id, limits.keyLinksShown)).map((link) => ({
          link_id: link.link_id,
          status: linkStatus(link, nowMs),
          label: link.description.label,
          created_at: link.created_at.toISOString(),
          expires_at: link.expires_at.toISOString(),
          access_key_id: link.key_id,
        }));
        return {
          json: { data: links },
          text: table([
            ['link_id', 'status', 'expires_at', 'access_key_id', 'label'],
            ...links.map((link) => [
              link.link_id,
              link.status,
              link.expires_at,
              link.access_key_id ?? '',
              link.label ?? '',
            ]),
          ]),
        };
      }),
  },
  {
    name: 'key unlink',
    usage: '--organisation ID LINK_ID',
    summary: 'Take a link back; a key that was made with it stays',
    options: { organisation: { type: 'string' } },
    positionals: [1, 1],
    run: (call) =>
      withApp(async (app) => {
        const found = await organisationOf(app, requiredOption(call, 'organisation'));
        const linkId = call.positionals[0]!;
        await act(app, found.organisation_id, 'key unlink', async (work) => {
          if (!isUuid(linkId) || !(await revokeLink(work, found.organisation_id, linkId)))
            throw missing('set-up link', linkId);
          return { result: null, resource: linkId };
        });
        return { json: { link_id: linkId, status: 'revoked' }, text: `The link ${linkId} opens nothing any more.` };
      }),
  },
  {
    name: 'key list',
    usage: '--organisation ID',
    summary: "List an organisation's keys, with their last use",
    options: { organisation: { type: 'string' } },
    run: (call) =>
      withApp(async (app) => {
        const found = await organisationOf(app, requiredOption(call, 'organisation'));
        const keys = await listKeys(app.db, found.organisation_id);
        const nowMs = app.clock.nowMs();
        return {
          json: { data: keys.map((key) => keyJson(key, nowMs)) },
          text: table([
            ['access_key_id', 'status', 'created_at', 'last used', 'sees', 'label'],
            ...keys.map((key) => [
              key.key_id,
              statusOf(key, nowMs),
              key.created_at.toISOString(),
              lastUse(key),
              boundsOf(key),
              key.label ?? '',
            ]),
          ]),
        };
      }),
  },
  {
    name: 'key roll',
    usage: '--organisation ID KEY_ID [--until DATE-TIME] [--expires DATE-TIME] [--test]',
    summary: 'Create a key that may do the same, and end the old one after an overlap',
    options: {
      organisation: { type: 'string' },
      until: { type: 'string' },
      expires: { type: 'string' },
      test: { type: 'boolean' },
    },
    positionals: [1, 1],
    run: (call) => {
      const untilUs = timeOption(call, 'until');
      const expiresUs = timeOption(call, 'expires');
      return withApp(async (app) => {
        const nowMs = app.clock.nowMs();
        const until = new Date(untilUs === null ? nowMs + limits.keyOverlapMs : untilUs / 1000);
        if (until.getTime() < nowMs) throw new Misuse('--until must lie in the future');
        const expiresAt = expiresUs === null ? undefined : new Date(expiresUs / 1000);
        if (expiresAt !== undefined && expiresAt.getTime() <= nowMs)
          throw new Misuse('--expires must lie in the future');
        const found = await organisationOf(app, requiredOption(call, 'organisation'));
        const keyId = call.positionals[0]!;
        const { pair, old } = await act(app, found.organisation_id, 'key roll', async (work) => {
          const kind = call.options.test === true ? 'test' : 'live';
          const rolled = await rollKey(work, found.organisation_id, keyId, { until, kind, expiresAt });
          if (rolled === 'unknown') throw unknownKey(keyId);
          if (rolled === 'ended') throw new Failure(`${keyId} has ended: create a new key instead.`);
          if (rolled === 'rolled') {
            const { replaced_by: next } = (await findKey(work.tx, found.organisation_id, keyId))!;
            throw new Failure(`${keyId} was rolled already, to ${next}: roll that one, or revoke it first.`);
          }
          return { result: rolled, resource: rolled.pair.access_key_id };
        });
        return {
          json: { ...pair, replaces: keyJson(old, app.clock.nowMs()) },
          text: `${table([
            ['access_key_id', pair.access_key_id],
            ['secret_access_key', pair.secret_access_key],
          ])}\n\nThe secret is not shown again. ${keyId} works until ${old.expires_at!.toISOString()}; last request with it: ${lastUse(old)}.`,
        };
      });
    },
  },
  {
    name: 'key receipt',
    usage: '--organisation ID KEY_ID [--out FILE]',
    summary: 'Write a dated PDF that says what a key may see',
    options: { organisation: { type: 'string' }, out: { type: 'string' } },
    positionals: [1, 1],
    run: (call) =>
      withApp(async (app) => {
        const found = await organisationOf(app, requiredOption(call, 'organisation'));
        const keyId = call.positionals[0]!;
        const key = await findKey(app.db, found.organisation_id, keyId);
        if (key === undefined) throw unknownKey(keyId);
        const sight = await sightInWords(app.db, found.organisation_id, {
          groupIds: key.group_ids ?? [],
          subjects: key.subjects ?? [],
          networks: key.networks ?? [],
        });
        const nowMs = app.clock.nowMs();
        const file = option(call, 'out') ?? `${keyId}.pdf`;
        await writeWhole(file, receiptPdf({ organisationName: found.name, key, sight, nowMs }));
        return {
          json: {
            ...keyJson(key, nowMs),
            issued_at: new Date(nowMs).toISOString(),
            may: sight.may,
            groups: sight.groups,
            file,
          },
          text: `${sight.may.join('\n')}\n\n${file} says so, as of ${new Date(nowMs).toISOString()}.`,
        };
      }),
  },
  {
    name: 'key revoke',
    usage: '--organisation ID KEY_ID',
    summary: 'Revoke a key, from the next request on',
    options: { organisation: { type: 'string' } },
    positionals: [1, 1],
    run: (call) =>
      withApp(async (app) => {
        const found = await organisationOf(app, requiredOption(call, 'organisation'));
        const keyId = call.positionals[0]!;
        const key = await act(app, found.organisation_id, 'key revoke', async (work) => {
          if (!(await revokeKey(work, found.organisation_id, keyId))) throw unknownKey(keyId);
          return { result: (await findKey(work.tx, found.organisation_id, keyId))!, resource: keyId };
        });
        return {
          json: keyJson(key, app.clock.nowMs()),
          text: `${keyId} is revoked. ${whatStays(key)}`,
        };
      }),
  },
];
