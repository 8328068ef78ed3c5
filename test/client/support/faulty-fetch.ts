import { ask } from '../../contract/support/client.ts';

/**
 * What becomes of a request. `refused`: it never arrives; `lost`: it is carried out, and the connection ends instead of the
 * answer; `cut`: it ends in the middle of the answer.
 */
export type Fault = 'refused' | 'lost' | 'cut' | null;

export type FaultyFetch = {
  fetch: (address: string, init: RequestInit) => Promise<Response>;
  /** Chooses the fault of the next request. */
  fault: (() => Fault) | null;
};

/**
 * A client's `fetch` that goes wrong, for thousands of histories: the service is asked over HTTP, and the fault happens
 * here, as a fetch tells of it. A front of its own (digest-service.ts) would make each request twice.
 * @param behind the service's origin; without a digest it is as one from before there was one
 */
export function faultyFetch(behind: string, hasDigest: boolean): FaultyFetch {
  const ended = () => new TypeError('fetch failed');
  const self: FaultyFetch = {
    fault: null,
    async fetch(address, init) {
      const fault = self.fault?.() ?? null;
      if (fault === 'refused') throw ended();
      const { pathname, search } = new URL(address);
      const isDigest = pathname.endsWith('/assessments/digest');
      if (isDigest && !hasDigest)
        return new Response('{"error":{"code":"not_found","message":"No."}}', { status: 404 });
      // The service may answer with other bits than it is asked for; sums of 256 buckets take less time than of 65,536.
      const path = `${pathname}${isDigest ? search.replace('bits=16', 'bits=8') : search}`;
      const answer = await ask(behind, init.method!, path, { headers: init.headers as Record<string, string> });
      if (fault === 'lost') throw ended();
      if (!hasDigest) delete answer.headers['x-sync-digest'];
      const { status, headers, bytes } = answer;
      const hasNone = status === 204 || status === 304;
      return new Response(hasNone ? null : fault === 'cut' ? half(bytes, ended()) : new Uint8Array(bytes), {
        status,
        headers,
      });
    },
  };
  return self;
}

function half(bytes: Buffer, error: Error): ReadableStream {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(new Uint8Array(bytes.subarray(0, bytes.length >> 1)));
    },
    pull: (controller) => controller.error(error),
  });
}
