import { after } from 'node:test';
import type { ManualClock } from '../../platform/time/manual-clock.ts';
import { manualClock } from '../../platform/time/manual-clock.ts';
import type { UnitOfWork } from '../../../src/platform/db/unit-of-work.ts';
import { emitGroupsUpdated } from '../../../src/feed/events/emit.ts';
import { lockFeed } from '../../../src/feed/position.ts';
import { createGroup } from '../../../src/organisations/groups/create.ts';
import type { EventType } from '../../../src/platform/validation/event-types.ts';
import { parseNetworks } from '../../../src/platform/validation/networks.ts';
import type { ListedDelivery } from '../../../src/integrations/webhooks/browse.ts';
import { listDeliveries } from '../../../src/integrations/webhooks/browse.ts';
import {
  registerEndpoint,
  removeEndpoint,
  findEndpoint,
} from '../../../src/integrations/webhooks/endpoints/endpoints.ts';
import { createSender } from '../../../src/integrations/webhooks/http/send.ts';
import type { EndpointRow } from '../../../src/integrations/webhooks/endpoints/endpoints.ts';
import type { WorkerOptions } from '../../../src/integrations/webhooks/worker.ts';
import { DeliveryWorker } from '../../../src/integrations/webhooks/worker.ts';
import type { TestOrganisation, TestService } from '../../support/service.ts';
import { withService } from '../../support/service.ts';
import type { Behaviour, Receiver } from './receiver.ts';
import { startReceiver, trustTestAuthority } from './receiver.ts';

/** A service, an organisation with endpoints at real receivers, and a worker: what the delivery tests are played with. */

export type Endpoint = { id: string; secret: string; receiver: Receiver };

export type Scene = {
  service: TestService;
  organisation: TestOrganisation;
  clock: ManualClock;
  endpoint(options?: {
    behaviour?: Behaviour;
    types?: EventType[];
    groupIds?: string[];
    url?: string;
  }): Promise<Endpoint>;
  group(name: string): Promise<string>;
  /** Commits one `learner.groups.updated` for each of the references. */
  emit(refs: string[], groups?: { added?: string[]; removed?: string[] }): Promise<void>;
  emitIn(work: UnitOfWork, refs: string[], groups?: { added?: string[]; removed?: string[] }): Promise<void>;
  worker(options?: WorkerOptions): DeliveryWorker;
  /** Has everything that is due attempted. */
  settle(worker: DeliveryWorker): Promise<void>;
  row(endpoint: Endpoint): Promise<EndpointRow>;
  deliveries(endpoint?: Endpoint): Promise<ListedDelivery[]>;
};

const start = Date.UTC(2026, 0, 31, 9);

export async function withScene(settings: Record<string, string> = {}): Promise<Scene> {
  trustTestAuthority();
  const clock = manualClock(start);
  const service = await withService({
    own: 'Moves the clock.',
    clock,
    settings: { ARS_WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8', ...settings },
  });
  const organisation = await service.organisation();
  const emitIn: Scene['emitIn'] = async (work, refs, groups = {}) => {
    await lockFeed(work, organisation.id);
    await emitGroupsUpdated(
      work,
      organisation.id,
      refs.map((ref) => ({ learner_ref: ref, added: groups.added ?? [], removed: groups.removed ?? [] })),
    );
  };
  return {
    service,
    organisation,
    clock,
    async endpoint(options = {}) {
      const receiver = await startReceiver({ behaviour: options.behaviour });
      const { row, secret } = await service.withUnitOfWork((work) =>
        registerEndpoint(work, organisation.id, {
          url: options.url ?? receiver.url,
          eventTypes: options.types ?? ['learner.groups.updated', 'assessment.completed'],
          groupIds: options.groupIds ?? null,
        }),
      );
      // The next test's events are not for this one's endpoints.
      after(async () => {
        await service.withUnitOfWork((work) => removeEndpoint(work, organisation.id, row.endpoint_id));
        await receiver.close();
      });
      return { id: row.endpoint_id, secret, receiver };
    },
    group: async (name) =>
      (await service.withUnitOfWork((work) => createGroup(work, organisation.id, { type: 'cohort', ref: name, name })))
        .row.group_id,
    emitIn,
    emit: (refs, groups) => service.withUnitOfWork((work) => emitIn(work, refs, groups)),
    worker(options = {}) {
      const sender = createSender({
        clock: { ...clock, monotonicMs: () => performance.now() },
        allowNetworks: parseNetworks('127.0.0.0/8'),
        timeoutMs: 60_000,
      });
      const worker = new DeliveryWorker(service.app, { sender, stopWithinMs: 100, ...options });
      // Before the service closes its database.
      after(() => worker.stop());
      return worker;
    },
    settle: async (worker) => {
      worker.wake();
      await worker.settled();
    },
    row: async (endpoint) => (await findEndpoint(service.app.db, organisation.id, endpoint.id))!,
    deliveries: (endpoint) =>
      listDeliveries(service.app.db, organisation.id, {
        endpointId: endpoint?.id ?? null,
        status: null,
        limit: 10_000,
      }),
  };
}
