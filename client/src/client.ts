import { HashMismatchError, UnexpectedReplyError } from './errors.ts';
import type { ListenOptions, ListenQuery } from './events.ts';
import { listenTo } from './events.ts';
import { sha256Hex } from './hash.ts';
import type {
  Assessment,
  EventLine,
  FeedEntry,
  Group,
  GroupChange,
  GroupDetail,
  GroupInput,
  LearnerDetail,
  LearnerEntry,
  Operations,
  Provisioned,
  ProvisionInput,
  RegisteredWebhookEndpoint,
  WebhookEndpoint,
  WebhookInput,
} from './openapi.ts';
import { operations } from './openapi.ts';
import type { CallOptions, Connection, FullCallOptions, Input, OperationId, Reply } from './request.ts';
import { send } from './request.ts';
import type { Surroundings } from './surroundings.ts';
import { ordinarySurroundings } from './surroundings.ts';
import type { WalkOptions } from './walk.ts';
import { listed, Walk } from './walk.ts';

export type ClientOptions = {
  /** The URL of the service, with or without `/api/v1`. */
  baseUrl: string;
  accessKeyId: string;
  secretAccessKey: string;
  /** The longest time of one attempt with its body: 30 seconds. */
  timeoutMs?: number;
  /** How long a call is retried after a temporary fault, in milliseconds: 2 minutes. 0: one attempt. */
  patienceMs?: number;
  /** Replaces parts of the runtime: `fetch` for a proxy, the rest for tests. */
  surroundings?: Partial<Surroundings>;
};

type ListQuery<Id extends OperationId> = Omit<Operations[Id]['query'], 'cursor'>;

export type Evidence = {
  bytes: Uint8Array;
  /** The SHA-256 of these bytes, computed here and equal to the service's. */
  sha256: string;
  etag: string | null;
};

/**
 * Calls the service with one access key. Its own errors are `ArsError`s; a call that you abort rejects with your
 * signal's reason.
 */
export class Client {
  readonly #connection: Connection;
  readonly surroundings: Surroundings;
  /** The public part of the access key. */
  readonly accessKeyId: string;

  constructor(options: ClientOptions) {
    this.surroundings = { ...ordinarySurroundings, ...options.surroundings };
    this.accessKeyId = headerText('accessKeyId', options.accessKeyId);
    this.#connection = {
      baseUrl: apiAddress(options.baseUrl),
      accessKeyId: this.accessKeyId,
      secretAccessKey: headerText('secretAccessKey', options.secretAccessKey),
      timeoutMs: options.timeoutMs ?? 30_000,
      patienceMs: options.patienceMs ?? 120_000,
      surroundings: this.surroundings,
    };
  }

  /** Any operation of the reference by its ID, with the full response. */
  call<Id extends OperationId>(
    id: Id,
    input: Input<Id> = {} as Input<Id>,
    options: FullCallOptions = {},
  ): Promise<Reply<Operations[Id]['reply']>> {
    return send(this.#connection, { id, ...operations[id] }, input, options) as Promise<Reply<Operations[Id]['reply']>>;
  }

  /** Reads any other path of the API, such as those of newer versions. */
  read(path: string, query: Record<string, unknown> = {}, options: FullCallOptions = {}): Promise<Reply<unknown>> {
    return send(this.#connection, { id: `GET ${path}`, method: 'GET', path }, { query }, options);
  }

  #walk<Entry>(
    id: 'listAssessments' | 'listLearners' | 'listGroups',
    query: Record<string, unknown>,
    options: WalkOptions,
  ): Walk<Entry> {
    return new Walk<Entry>(
      async (search, call) => listed(id, await send(this.#connection, { id, ...operations[id] }, {}, call, search)),
      query,
      options,
    );
  }

  /** Whether the access key is valid, and the organisation that it belongs to. */
  async health(options?: CallOptions): Promise<Operations['health']['reply']> {
    return (await this.call('health', {}, options)).body;
  }

  /** The time of the service's last restore, from X-Sync-Restored. Null if there was none. */
  async restored(options?: CallOptions): Promise<string | null> {
    return (await this.call('listAssessments', { query: { limit: 1 } }, options)).headers.get('X-Sync-Restored');
  }

  readonly assessments = {
    /** The feed of results. With `since` it contains tombstones and, with `group_id`, scope exits. */
    list: (query: ListQuery<'listAssessments'> = {}, options: WalkOptions = {}): Walk<FeedEntry> =>
      this.#walk('listAssessments', query, options),

    get: async (id: string, options?: CallOptions): Promise<Assessment> =>
      (await this.call('getAssessment', { path: { id } }, options)).body.data,

    /**
     * The evidence PDF. Its SHA-256 is compared with the service's header, and with `report_sha256` of a result that
     * has one.
     * @param of a result, or its ID
     */
    report: async (
      of: string | { assessment_id: string; report_sha256: string | null },
      options?: CallOptions,
    ): Promise<Evidence> => {
      const id = typeof of === 'string' ? of : of.assessment_id;
      const { body: bytes, headers, etag, status } = await this.call('getReport', { path: { id } }, options);
      if (!(bytes instanceof Uint8Array))
        throw new UnexpectedReplyError('getReport', status, 'the response is not a PDF');
      const sha256 = await sha256Hex(bytes);
      const known = typeof of === 'string' ? null : of.report_sha256;
      for (const told of [headers.get('X-Report-SHA256'), known])
        if (told !== null && told !== sha256) throw new HashMismatchError('getReport', told, sha256);
      return { bytes, sha256, etag };
    },
  };

  readonly learners = {
    list: (query: ListQuery<'listLearners'> = {}, options: WalkOptions = {}): Walk<LearnerEntry> =>
      this.#walk('listLearners', query, options),

    /** @param ref your own reference; it may hold `/` and `:` */
    get: async (ref: string, options?: CallOptions): Promise<LearnerDetail> =>
      (await this.call('getLearner', { path: { ref } }, options)).body.data,

    /** Creates or updates the learner, with an invitation; costs a credit unless one is open. */
    provision: async (learner: ProvisionInput, options?: CallOptions): Promise<Provisioned> =>
      (await this.call('provisionLearner', { body: learner }, options)).body.data,
  };

  readonly groups = {
    list: (query: ListQuery<'listGroups'> = {}, options: WalkOptions = {}): Walk<Group> =>
      this.#walk('listGroups', query, options),

    get: async (id: string, options?: CallOptions): Promise<GroupDetail> =>
      (await this.call('getGroup', { path: { id } }, options)).body.data,

    /** The group of this type and ref. Creates the group if it does not exist. */
    create: async (group: GroupInput, options?: CallOptions): Promise<Group> =>
      (await this.call('createGroup', { body: group }, options)).body.data,

    change: async (id: string, change: GroupChange, options?: CallOptions): Promise<GroupDetail> =>
      (await this.call('changeGroup', { path: { id }, body: change }, options)).body.data,

    addMembers: async (
      id: string,
      learnerRefs: string[],
      options?: CallOptions,
    ): Promise<Operations['addMembers']['reply']> =>
      (await this.call('addMembers', { path: { id }, body: { learner_refs: learnerRefs } }, options)).body,

    removeMembers: async (
      id: string,
      learnerRefs: string[],
      options?: CallOptions,
    ): Promise<Operations['removeMembers']['reply']> =>
      (await this.call('removeMembers', { path: { id }, body: { learner_refs: learnerRefs } }, options)).body,
  };

  readonly webhooks = {
    list: async (options?: CallOptions): Promise<WebhookEndpoint[]> =>
      (await this.call('listWebhooks', {}, options)).body.data,

    /** Only this response contains the signing secret. */
    register: async (endpoint: WebhookInput, options?: CallOptions): Promise<RegisteredWebhookEndpoint> =>
      (await this.call('registerWebhook', { body: endpoint }, options)).body.data,

    remove: async (id: string, options?: CallOptions): Promise<void> => {
      await this.call('removeWebhook', { path: { id } }, options);
    },
  };

  readonly events = {
    /** Deliveries over one long request, for development on a machine without a public URL. */
    listen: (query?: ListenQuery, options?: ListenOptions): AsyncGenerator<EventLine, void, undefined> =>
      listenTo(this.#connection, query, options),
  };
}

/** The URL of the API, from the URL of the service or of the API. */
export function apiAddress(text: string): string {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new TypeError('baseUrl must be an absolute URL, such as https://results.example.org');
  }
  if (!/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '' || url.username !== '')
    throw new TypeError('baseUrl must be an http or https URL without credentials, query or fragment');
  const path = url.pathname.replace(/(?<!\/)\/+$/, '');
  return `${url.origin}${path === '' ? '/api/v1' : path}`;
}

/** Judged here, because a runtime that refuses a header repeats its value in the message. */
function headerText(name: string, value: unknown): string {
  if (typeof value !== 'string' || !/^[\x21-\x7e]+$/.test(value))
    throw new TypeError(`${name} must be the text from the service, without spaces or line breaks`);
  return value;
}
