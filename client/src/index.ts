export { Client } from './client.ts';
export type { ClientOptions, Evidence } from './client.ts';
export {
  ApiError,
  ArsError,
  ConnectionError,
  HashMismatchError,
  RestoredError,
  TimeoutError,
  UnexpectedReplyError,
} from './errors.ts';
export type { ListenOptions, ListenQuery } from './events.ts';
export type * from './openapi.ts';
export { operations } from './openapi.ts';
export type { CallOptions, FullCallOptions, Input, OperationId, Reply } from './request.ts';
export type { Surroundings } from './surroundings.ts';
export { Walk } from './walk.ts';
export type { Checkpoint, Page, Position, WalkOptions } from './walk.ts';
export { replayWrites } from './writes.ts';
export type { GroupKey, ReplayOptions, Resent, Write } from './writes.ts';
export { openWebhook, testWebhook, toleranceSeconds, verifyWebhook, WebhookError } from './webhooks.ts';
export type { Delivery, Verdict } from './webhooks.ts';
export type { Explanation, Reason } from './sync/explain.ts';
export type { Filters } from './sync/filters.ts';
export type { Change, MirrorOptions, RemovalReason } from './sync/mirror.ts';
export { SyncStopped } from './sync/outcome.ts';
export type { Report } from './sync/poll.ts';
export type { Row, Store, StoreTransaction } from './sync/store.ts';
export { openMirror, sync } from './sync/sync.ts';
export type { MirrorHandle, Sync, SyncOptions } from './sync/sync.ts';
export { compare } from './sync/compare.ts';
export type { Cause, CausedDifference, Comparison } from './sync/compare.ts';
