/** What the edges may ask of endpoints. */
export type { EndpointRow } from './store.ts';
export { countUndelivered, endpointPayload, findEndpoint, lastDelivered, listEndpoints } from './store.ts';
