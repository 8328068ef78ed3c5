import type { Client } from './client.ts';
import { ApiError } from './errors.ts';
import type {
  Group,
  GroupChange,
  GroupInput,
  LearnerDetail,
  Provisioned,
  ProvisionInput,
  RegisteredWebhookEndpoint,
  WebhookEndpoint,
  WebhookInput,
} from './openapi.ts';

/** A group by its type and reference: after a restore its ID may change. */
export type GroupKey = { type: string; ref: string };

/** A write of your application, named as its operation. */
export type Write =
  | { operation: 'createGroup'; group: GroupInput }
  | { operation: 'changeGroup'; group: GroupKey; change: GroupChange }
  | { operation: 'provisionLearner'; learner: ProvisionInput & { ref: string } }
  | { operation: 'addMembers' | 'removeMembers'; group: GroupKey; learnerRefs: string[] }
  | { operation: 'registerWebhook'; endpoint: Omit<WebhookInput, 'group_ids'> & { groups?: GroupKey[] } }
  | { operation: 'removeWebhook'; url: string };

/** A write that was sent again. */
export type Resent = {
  write: Write;
  /** For a lost learner: send them the new `assessment_url`. */
  learner: Provisioned | null;
  /** Of an endpoint that was lost: store the new `secret`. */
  endpoint: RegisteredWebhookEndpoint | null;
  /** References of `addMembers` without a learner, because no earlier write creates the learner. */
  notFound: string[];
};

export type ReplayOptions = {
  signal?: AbortSignal;
  /** Called after each write that was sent again, and before the next one. If it throws, the replay ends. */
  onResent?: (resent: Resent) => Promise<void> | void;
};

/**
 * Sends the writes again that a restore of the service has lost. `writes` are your application's own since the backup,
 * oldest first. Existing records stay as they are: an existing learner gets no invitation, even if one was lost, and an
 * endpoint gets no new secret. An interrupted replay can be repeated.
 * @returns how many writes were sent again
 * @throws ArsError as the operations do
 */
export async function replayWrites(
  client: Client,
  writes: readonly Write[],
  options: ReplayOptions = {},
): Promise<number> {
  const replay = new Replay(client, writes, options.signal);
  let sent = 0;
  for (const [at, write] of writes.entries()) {
    const resent = await replay.send(write, at);
    if (resent === null) continue;
    sent += 1;
    await options.onResent?.({ write, learner: null, endpoint: null, notFound: [], ...resent });
  }
  return sent;
}

const keyOf = ({ type, ref }: GroupKey) => JSON.stringify([type, ref]);
const memberFact = (group: GroupKey, learnerRef: string) => `member ${keyOf(group)} ${learnerRef}`;
const changeFact = (group: GroupKey, field: string) => `${field} of ${keyOf(group)}`;
const webhookFact = (url: string) => `webhook ${url}`;

/** The facts that a write decides, until a later write decides them. */
function factsOf(write: Write): string[] {
  switch (write.operation) {
    case 'createGroup':
      return [];
    case 'changeGroup':
      return Object.keys(write.change).map((field) => changeFact(write.group, field));
    case 'provisionLearner':
      return (write.learner.groups ?? []).map((group) => memberFact(group, write.learner.ref));
    case 'registerWebhook':
      return [webhookFact(write.endpoint.url)];
    case 'removeWebhook':
      return [webhookFact(write.url)];
    default:
      return write.learnerRefs.map((learnerRef) => memberFact(write.group, learnerRef));
  }
}

type Sent = Partial<Resent> | null;

class Replay {
  readonly #client: Client;
  readonly #call: { signal: AbortSignal | undefined };
  /** The last write of each fact; earlier ones are not sent again. */
  readonly #last = new Map<string, number>();
  #groups: Map<string, Group> | null = null;

  constructor(client: Client, writes: readonly Write[], signal: AbortSignal | undefined) {
    this.#client = client;
    this.#call = { signal };
    for (const [at, write] of writes.entries()) for (const fact of factsOf(write)) this.#last.set(fact, at);
  }

  /** @returns null where nothing of it was lost */
  async send(write: Write, at: number): Promise<Sent> {
    const decides = (fact: string) => this.#last.get(fact) === at;
    switch (write.operation) {
      case 'createGroup':
        return (await this.#makes(write.group)) ? {} : null;
      case 'changeGroup':
        return this.#changes(at, write.group, write.change, decides);
      case 'provisionLearner':
        return this.#provisions(at, write.learner, decides);
      case 'addMembers':
      case 'removeMembers': {
        const refs = write.learnerRefs.filter((learnerRef) => decides(memberFact(write.group, learnerRef)));
        return write.operation === 'addMembers' ? this.#adds(at, write.group, refs) : this.#removes(write.group, refs);
      }
      case 'registerWebhook':
        return decides(webhookFact(write.endpoint.url)) ? this.#registers(at, write.endpoint) : null;
      case 'removeWebhook': {
        const there = decides(webhookFact(write.url)) ? await this.#endpointsAt(write.url) : [];
        for (const { id } of there) await this.#client.webhooks.remove(id, this.#call);
        return there.length > 0 ? {} : null;
      }
    }
  }

  async #changes(at: number, key: GroupKey, change: GroupChange, decides: (fact: string) => boolean): Promise<Sent> {
    const group = await this.#groupOf(at, key);
    const { name = group.name, active = group.active } = change;
    const wanted: GroupChange = {};
    if (name !== group.name && decides(changeFact(key, 'name'))) wanted.name = name;
    if (active !== group.active && decides(changeFact(key, 'active'))) wanted.active = active;
    if (Object.keys(wanted).length === 0) return null;
    (await this.#known()).set(keyOf(key), await this.#client.groups.change(group.id, wanted, this.#call));
    return {};
  }

  /** An existing learner gets no second invitation, and only joins the groups again. */
  async #provisions(
    at: number,
    learner: ProvisionInput & { ref: string },
    decides: (fact: string) => boolean,
  ): Promise<Sent> {
    const there = await this.#client.learners.get(learner.ref, this.#call).catch(absent);
    if (there === null) {
      const provisioned = await this.#client.learners.provision(learner, this.#call);
      // It may have made groups.
      this.#groups = null;
      return { learner: provisioned };
    }
    const isIn = new Set(there.groups.map(keyOf));
    let isChanged = false;
    for (const group of learner.groups ?? []) {
      if (isIn.has(keyOf(group)) || !decides(memberFact(group, learner.ref))) continue;
      await this.#makes(group);
      if ((await this.#adds(at, group, [learner.ref])) !== null) isChanged = true;
    }
    return isChanged ? {} : null;
  }

  async #adds(at: number, key: GroupKey, refs: string[]): Promise<Sent> {
    if (refs.length === 0) return null;
    const { id } = await this.#groupOf(at, key);
    const { added, not_found: notFound } = await this.#client.groups.addMembers(id, refs, this.#call);
    return added.length + notFound.length > 0 ? { notFound } : null;
  }

  async #removes(key: GroupKey, refs: string[]): Promise<Sent> {
    const group = (await this.#known()).get(keyOf(key));
    if (group === undefined || refs.length === 0) return null;
    const { removed } = await this.#client.groups.removeMembers(group.id, refs, this.#call);
    return removed.length > 0 ? {} : null;
  }

  /** An endpoint that is there but for other events or groups is replaced, as no operation changes one. */
  async #registers(at: number, { groups, ...endpoint }: (Write & { operation: 'registerWebhook' })['endpoint']) {
    const group_ids: string[] = [];
    for (const key of groups ?? []) group_ids.push((await this.#groupOf(at, key)).id);
    const types = endpoint.event_types ?? ['assessment.completed'];
    const isSame = (one: WebhookEndpoint) => sameSet(one.event_types, types) && sameSet(one.group_ids ?? [], group_ids);
    const there = await this.#endpointsAt(endpoint.url);
    if (there.some(isSame)) return null;
    for (const { id } of there) await this.#client.webhooks.remove(id, this.#call);
    const input = groups === undefined ? endpoint : { ...endpoint, group_ids };
    return { endpoint: await this.#client.webhooks.register(input, this.#call) };
  }

  /** @returns whether it had to be made */
  async #makes(group: GroupInput): Promise<boolean> {
    const known = await this.#known();
    if (known.has(keyOf(group))) return false;
    known.set(keyOf(group), await this.#client.groups.create(group, this.#call));
    return true;
  }

  async #groupOf(at: number, key: GroupKey): Promise<Group> {
    const group = (await this.#known()).get(keyOf(key));
    if (group === undefined) throw new TypeError(`writes[${at}] names a missing group. Put its createGroup before it`);
    return group;
  }

  async #known(): Promise<Map<string, Group>> {
    if (this.#groups === null) {
      const all = await this.#client.groups.list({ limit: 500 }, this.#call).toArray();
      this.#groups = new Map(all.map((group) => [keyOf(group), group]));
    }
    return this.#groups;
  }

  async #endpointsAt(url: string): Promise<WebhookEndpoint[]> {
    // The service shows letters that no URI has as they are asked for.
    const { href } = new URL(url);
    return (await this.#client.webhooks.list(this.#call)).filter((one) => new URL(one.url).href === href);
  }
}

const sameSet = (one: readonly string[], other: readonly string[]) =>
  new Set([...one, ...other]).size === new Set(one).size && new Set(one).size === new Set(other).size;

/** @throws whatever else went wrong */
function absent(error: unknown): LearnerDetail | null {
  if (error instanceof ApiError && error.code === 'not_found') return null;
  throw error;
}
