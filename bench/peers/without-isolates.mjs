import { registerHooks } from 'node:module';

/**
 * Directus loads an engine for scripts of its flows, which has to be compiled on most machines. Nothing here has a script:
 * it gets an empty one.
 */
registerHooks({
  load: (url, context, nextLoad) =>
    url.endsWith('/isolated-vm/isolated-vm.js')
      ? { format: 'commonjs', source: 'module.exports = {};', shortCircuit: true }
      : nextLoad(url, context),
});
