import { open } from 'node:fs/promises';

/** A new or renamed file survives a loss of power only once its folder is on the disk. */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const folder = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    // The parent folder may be writable but not readable.
    if (error.code !== 'EACCES' && error.code !== 'EPERM') throw error;
    return null;
  });
  if (folder === null) return;
  try {
    await folder.sync();
  } catch (error) {
    // Some network file systems cannot sync a folder.
    if (!['EINVAL', 'ENOTSUP', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  } finally {
    await folder.close();
  }
}
