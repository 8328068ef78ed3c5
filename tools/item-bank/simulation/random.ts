import type { Uniform } from '../../../src/platform/crypto/random.ts';

/** A standard normal draw (Box & Muller 1958). The bits of its logarithm and cosine may differ between engines. */
export function standardNormal(random: Uniform): number {
  return Math.sqrt(-2 * Math.log(1 - random.float())) * Math.cos(2 * Math.PI * random.float());
}

/**
 * A fast generator for simulations, sfc32 (Doty-Humphrey, PractRand), seeded by three draws of the source. Never use it
 * for secrets.
 */
export function simulationRandom(source: Uniform): Uniform {
  const word = () => Math.floor(source.float() * 2 ** 32) | 0;
  let [a, b, c, counter] = [word(), word(), word(), 1] as [number, number, number, number];
  const next = (): number => {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return sum >>> 0;
  };
  for (let k = 0; k < 15; k++) next();
  return { float: () => ((next() >>> 5) * 2 ** 26 + (next() >>> 6)) / 2 ** 53 };
}
