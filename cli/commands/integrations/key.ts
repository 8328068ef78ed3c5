import { keyScopeText } from '../../../src/organisations/key-scope.ts';
import type { Tx } from '../../../src/platform/db/database.ts';
import type { KeyDescription, KeyFault } from '../../../src/integrations/access-keys/description.ts';
import { readDescription } from '../../../src/integrations/access-keys/description.ts';
import type { AccessKey } from '../../../src/integrations/access-keys/keys.ts';
import {
  createKey,
  findKey,
  listKeys,
  revokeKey,
  rollKey,
  statusOf,
} from '../../../src/integrations/access-keys/keys.ts';
import { testLine } from '../../../src/integrations/access-keys/link-page.ts';
import {
  linkStatus,
  linkUrl,
  listLinks,
  mailLink,
  offerKey,
  revokeLink,
} from '../../../src/integrations/access-keys/link.ts';
import { receiptPdf } from '../../../src/integrations/access-keys/receipt.ts';
import { scopeInWords, whatStays } from '../../../src/integrations/access-keys/scope-words.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import { isUuid } from '../../../src/platform/crypto/random.ts';
import { type Command, type Option, type Values, Failure, Misuse } from '../../kit/command.ts';
import { writeWhole } from '../../kit/in-place.ts';
import { type Inside, missing, needsMailServer, operator, organisationCommand } from '../../kit/open.ts';
import { count, email, flag, or, several, text, time } from '../../kit/options.ts';
import { listOf, pick, table, tableOf } from '../../kit/table.ts';

/** Refuses empty text. Otherwise a script with an empty variable for a key's end could create a key without an end. */
const filled = (value: string): Option<string> => ({
  value,
  read(raw, name) {
    if (raw === '') throw new Misuse(`${name} must not be empty`);
    return String(raw ?? '');
  },
});

const described = {
  label: filled('L'),
  purpose: filled('P'),
  contact: filled('C'),
  expires: filled('DATE-TIME'),
  network: several('CIDR'),
  group: several('ID'),
  subject: several('S'),
  test: flag,
};
const aboutDescribed = {
  label: 'The name of the key in lists',
  purpose: 'What the key is for',
  contact: 'Who looks after the key',
  expires: 'When the key ends',
  network: 'A network that may use the key, such as 192.0.2.0/24',
  group: 'The ID of a group that the key may read',
  subject: 'A subject that the key may read',
  test: 'Marks the key as a test key',
};
type Described = Values<typeof described>;

const optionOf: Partial<Record<KeyFault['field'], string>> = {
  networks: 'network',
  groups: 'group',
  subjects: 'subject',
};

/** @throws Misuse that names the first wrong option */
async function readOptions(tx: Tx, { app, organisationId }: Inside, options: Described): Promise<KeyDescription> {
  const { network: networks, group: groups, subject: subjects, ...texts } = options;
  const read = await readDescription(tx, organisationId, { ...texts, networks, groups, subjects }, app.clock.nowMs());
  if ('description' in read) return read.description;
  const { field, expected } = read.faults[0]!;
  throw new Misuse(`--${optionOf[field] ?? field} ${expected}`);
}

const unknownKey = (keyId: string): Failure => missing('key', keyId, { hint: '; ars key list shows them' });

function lastUse(key: AccessKey): string {
  if (key.last_used_ms === null) return 'never';
  const where = [key.last_network, key.last_client].filter((part) => part !== null && part !== '').join(' by ');
  return `${new Date(key.last_used_ms).toISOString()}${where === '' ? '' : ` from ${where}`}`;
}

function keyJson(key: AccessKey, nowMs: number) {
  return {
    access_key_id: key.key_id,
    status: statusOf(key, nowMs),
    ...pick(key, 'label', 'purpose', 'contact', 'created_at', 'expires_at', 'revoked_at', 'replaces', 'replaced_by'),
    ...pick(key, 'networks', 'group_ids', 'subjects'),
    last_used_at: key.last_used_ms === null ? null : new Date(key.last_used_ms),
    last_used_from: key.last_network,
    last_used_by: key.last_client,
  };
}

const keyScopeOf = ({ group_ids: groupIds, subjects }: AccessKey): string =>
  groupIds === null && subjects === null
    ? 'everything'
    : keyScopeText({ groupIds, subjects }).trim().replace('\n', ' ');

const pairTable = ({ access_key_id, secret_access_key }: { access_key_id: string; secret_access_key: string }) =>
  table(Object.entries({ access_key_id, secret_access_key }));

export const commands: Command[] = [
  organisationCommand({
    name: 'key create',
    summary: 'Create an access key and print its secret once',
    notes: '--group, --subject and --network restrict the key.',
    examples: [
      '--organisation $ORG --label Maytas',
      '--organisation $ORG --label Reports --subject maths --expires 2027-08-31T00:00:00Z',
    ],
    about: aboutDescribed,
    options: described,
    run: async (call) => {
      const { app, organisationId } = call;
      const pair = await call.act({ of: 'access_key_id' }, async (work) =>
        createKey(work, organisationId, await readOptions(work.tx, call, call.options)),
      );
      return {
        json: pair,
        text: `${pairTable(pair)}\n\nThe secret is not shown again. Try the pair:\n${testLine(app.settings.baseUrl, pair)}`,
      };
    },
  }),
  organisationCommand({
    name: 'key link',
    summary: 'Create a link that shows a new key once',
    notes: 'The person with the link creates the key and alone sees its secret.',
    examples: [
      '--organisation $ORG --label Maytas',
      '--organisation $ORG --label Maytas --email vendor@example.org --minutes 60',
    ],
    about: {
      ...aboutDescribed,
      minutes: 'How long the link works',
      email: 'Sends the link to this email address',
    },
    options: {
      ...described,
      minutes: or(count(1, limits.keyLinkMostMs / 60_000), limits.keyLinkMs / 60_000),
      email: email('E'),
    },
    run: async (call) => {
      const { app, organisation, organisationId } = call;
      const { minutes, email: address, ...options } = call.options;
      if (address !== undefined) needsMailServer(app);
      const lastsMs = minutes * 60_000;
      const { linkId, mailed } = await call.act({ of: 'linkId' }, async (work) => {
        const description = await readOptions(work.tx, call, options);
        const made = await offerKey(work, organisationId, description, { createdBy: operator, lastsMs });
        const link = { linkId: made, organisation: organisation.name, expiresMs: work.nowMs + lastsMs };
        const sent = address !== undefined && (await mailLink(work, organisationId, { ...link, address }));
        return { linkId: made, mailed: sent };
      });
      const url = linkUrl(app.settings.baseUrl, app.secrets, organisationId, linkId);
      return {
        json: { link_id: linkId, url, minutes, mailed },
        text: `${url}\n\nIt works once, for ${minutes} minutes.${mailed ? ' We also sent it by email.' : ''} To revoke it: ars key unlink --organisation ${organisation.public_id} ${linkId}`,
      };
    },
  }),
  organisationCommand({
    name: 'key links',
    summary: 'List the latest links for new keys',
    examples: ['--organisation $ORG', '--organisation $ORG --json'],
    run: async ({ app, organisationId }) => {
      const links = (await listLinks(app.db, organisationId, limits.keyLinksShown)).map((link) => ({
        ...pick(link, 'link_id', 'created_at', 'expires_at'),
        status: linkStatus(link, app.clock.nowMs()),
        label: link.description.label,
        access_key_id: link.key_id,
      }));
      return listOf(links, ['link_id', 'status', 'expires_at', 'access_key_id', 'label']);
    },
  }),
  organisationCommand({
    name: 'key unlink',
    summary: 'Revoke a link for a new key',
    notes: 'A key that was made with the link stays.',
    examples: ['--organisation $ORG LINK_ID', '--organisation $ORG LINK_ID --json'],
    takes: 'LINK_ID',
    run: async ({ organisationId, act, positionals }) => {
      const linkId = positionals[0]!;
      await act(linkId, async (work) => {
        if (!isUuid(linkId) || !(await revokeLink(work, organisationId, linkId))) throw missing('set-up link', linkId);
      });
      return { json: { link_id: linkId, status: 'revoked' }, text: `The link ${linkId} opens nothing any more.` };
    },
  }),
  organisationCommand({
    name: 'key list',
    summary: 'List access keys with their last use',
    examples: ['--organisation $ORG', '--organisation $ORG --json'],
    run: async ({ app, organisationId }) => {
      const keys = await listKeys(app.db, organisationId);
      const nowMs = app.clock.nowMs();
      return {
        json: { data: keys.map((key) => keyJson(key, nowMs)) },
        text: tableOf(keys, [
          ['access_key_id', 'key_id'],
          ['status', (key) => statusOf(key, nowMs)],
          'created_at',
          ['last used', lastUse],
          ['sees', keyScopeOf],
          'label',
        ]),
      };
    },
  }),
  organisationCommand({
    name: 'key roll',
    summary: 'Rotate an access key',
    notes: 'The new key has the scope of the old key. The old key ends after an overlap.',
    examples: ['--organisation $ORG KEY_ID', '--organisation $ORG KEY_ID --until 2027-01-31T00:00:00Z'],
    about: {
      until: 'When the old key ends',
      expires: 'When the new key ends',
      test: 'Marks the new key as a test key',
    },
    takes: 'KEY_ID',
    options: { until: time('DATE-TIME'), expires: time('DATE-TIME'), test: flag },
    run: async ({ app, organisationId, act, positionals, options }) => {
      const nowMs = app.clock.nowMs();
      const { until = new Date(nowMs + limits.keyOverlapMs), expires: expiresAt } = options;
      if (until.getTime() < nowMs) throw new Misuse('--until must lie in the future');
      if (expiresAt !== undefined && expiresAt.getTime() <= nowMs) throw new Misuse('--expires must lie in the future');
      const keyId = positionals[0]!;
      const { pair, old } = await act({ of: 'newId' }, async (work) => {
        const kind = options.test ? 'test' : 'live';
        const rolled = await rollKey(work, organisationId, keyId, { until, kind, expiresAt });
        if (rolled === 'unknown') throw unknownKey(keyId);
        if (rolled === 'ended') throw new Failure(`${keyId} has ended: create a new key instead.`);
        if (rolled === 'rolled') {
          const { replaced_by: next } = (await findKey(work.tx, organisationId, keyId))!;
          throw new Failure(`${keyId} was rolled already, to ${next}: roll that one, or revoke it first.`);
        }
        return { ...rolled, newId: rolled.pair.access_key_id };
      });
      return {
        json: { ...pair, replaces: keyJson(old, app.clock.nowMs()) },
        text: `${pairTable(pair)}\n\nThe secret is not shown again. ${keyId} works until ${old.expires_at!.toISOString()}; last request with it: ${lastUse(old)}.`,
      };
    },
  }),
  organisationCommand({
    name: 'key receipt',
    summary: 'Write a PDF that says what a key can read',
    examples: ['--organisation $ORG KEY_ID', '--organisation $ORG KEY_ID --out receipt.pdf'],
    about: { out: 'The file to write (default: KEY_ID.pdf)' },
    takes: 'KEY_ID',
    options: { out: text('FILE') },
    run: async ({ app, organisation, organisationId, positionals, options }) => {
      const keyId = positionals[0]!;
      const key = await findKey(app.db, organisationId, keyId);
      if (key === undefined) throw unknownKey(keyId);
      const { group_ids, subjects, networks } = key;
      const visibility = await scopeInWords(app.db, organisationId, {
        groupIds: group_ids ?? [],
        subjects: subjects ?? [],
        networks: networks ?? [],
      });
      const nowMs = app.clock.nowMs();
      const { out: file = `${keyId}.pdf` } = options;
      await writeWhole(file, receiptPdf({ organisationName: organisation.name, key, visibility, nowMs }));
      const { may, groups } = visibility;
      const issuedAt = new Date(nowMs).toISOString();
      return {
        json: { ...keyJson(key, nowMs), issued_at: issuedAt, may, groups, file },
        text: `${may.join('\n')}\n\n${file} says so, as of ${issuedAt}.`,
      };
    },
  }),
  organisationCommand({
    name: 'key revoke',
    summary: 'Revoke an access key now',
    examples: ['--organisation $ORG KEY_ID', '--organisation $ORG KEY_ID --json'],
    takes: 'KEY_ID',
    run: async ({ app, organisationId, act, positionals }) => {
      const keyId = positionals[0]!;
      const key = await act(keyId, async (work) => {
        if (!(await revokeKey(work, organisationId, keyId))) throw unknownKey(keyId);
        return (await findKey(work.tx, organisationId, keyId))!;
      });
      return { json: keyJson(key, app.clock.nowMs()), text: `${keyId} is revoked. ${whatStays(key)}` };
    },
  }),
];
