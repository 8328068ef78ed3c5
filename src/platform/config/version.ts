import manifest from '../../../package.json' with { type: 'json' };

/** This service's version: in `ars --version`, in the log's first line, in `/readyz` and in the metrics. */
export const { version } = manifest;
