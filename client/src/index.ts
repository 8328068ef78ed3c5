export { Client } from './client.ts';
export type { ClientOptions, FeedEntry, Report } from './client.ts';
export {
  ApiError,
  ArsError,
  ConnectionError,
  HashMismatchError,
  TimeoutError,
  UnexpectedReplyError,
} from './errors.ts';
export type * from './openapi.ts';
export { operations } from './openapi.ts';
export type { CallOptions, FullCallOptions, Input, OperationId, Reply } from './request.ts';
export type { Surroundings } from './surroundings.ts';
export { Walk } from './walk.ts';
export type { Checkpoint, Page, Position, WalkOptions } from './walk.ts';
export { openWebhook, testWebhook, toleranceSeconds, verifyWebhook, WebhookError } from './webhooks.ts';
export type { Delivery, Verdict, WebhookEvent } from './webhooks.ts';
