using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Net.Http;
using System.Runtime.Serialization.Json;
using System.Security.Cryptography;
using System.Text;
using System.Threading;
using System.Xml;
using System.Xml.Linq;

/// <summary>
/// Keeps the service's results in a file of NDJSON, a record on each line, with the standard library of .NET alone.
///
///   API=http://127.0.0.1:8080/api/v1 ACCESS_KEY_ID=… SECRET_ACCESS_KEY=… dotnet run Mirror.cs results.ndjson
///
/// Run it once a minute. The file is replaced as a whole, and the checkpoint after it: killed at any time, the next run reads some
/// results again and loses none.
/// </summary>
public sealed class Mirror
{
    private const int Attempts = 8;
    private const int Restores = 3;
    private static readonly int[] Passing = { 429, 500, 502, 503, 504 };

    /// <summary>What is kept of a result.</summary>
    private sealed class Result
    {
        public string UpdatedAt;
        public string Line;
    }

    /// <summary>The service was restored from a backup: the walk starts again without since, and replaces what is held.</summary>
    private sealed class Restored : Exception
    {
    }

    /// <summary>A page, or null for 304, with what is needed of the headers.</summary>
    private sealed class Reply
    {
        public XElement Page;
        public string Since;
        public string ETag;
        public string Digest;
        public string RestoredAt;
    }

    private readonly string api = Variable("API").TrimEnd('/');
    private readonly HttpClient http;
    private readonly string file;
    private readonly string checkpointFile;
    private readonly Random random = new Random();

    /// <summary>What the last page of the walk said, and null where the service sends no digest.</summary>
    private string served;

    private Mirror(string file)
    {
        this.file = Path.GetFullPath(file);
        checkpointFile = this.file + ".checkpoint";
        // The key pair must not follow a redirect to wherever it leads.
        http = new HttpClient(new HttpClientHandler { AllowAutoRedirect = false }) { Timeout = TimeSpan.FromSeconds(30) };
        http.DefaultRequestHeaders.Add("X-Access-Key-Id", Variable("ACCESS_KEY_ID"));
        http.DefaultRequestHeaders.Add("X-Secret-Access-Key", Variable("SECRET_ACCESS_KEY"));
    }

    public static int Main(string[] arguments)
    {
        try
        {
            new Mirror(arguments.Length > 0 ? arguments[0] : "results.ndjson").Run();
            return 0;
        }
        catch (InvalidOperationException refused)
        {
            Console.Error.WriteLine(refused.Message);
            return 1;
        }
    }

    private void Run()
    {
        string[] checkpoint = File.Exists(checkpointFile) && File.Exists(file) ? File.ReadAllLines(checkpointFile) : null;
        Dictionary<string, Result> results = null;
        for (var restores = 0; results == null; restores++)
        {
            try
            {
                var held = checkpoint == null ? new Dictionary<string, Result>() : Read();
                results = checkpoint == null ? Walk(held, null, null) : Walk(held, checkpoint[0], checkpoint[1]);
                if (results == null)
                {
                    Console.WriteLine(held.Count + " results, nothing has changed");
                    return;
                }
                // Where the digests differ, a walk through everything replaces what was held.
                if (!IsProven(results)) results = Walk(new Dictionary<string, Result>(), null, null);
            }
            catch (Restored)
            {
                if (restores == Restores)
                    throw new InvalidOperationException("the service was restored again and again; try again when that is over");
                results = null;
                checkpoint = null;
            }
        }
        Console.WriteLine(results.Count + " results" + (IsProven(results) ? ", the service's digest is this file's" : ""));
    }

    private bool IsProven(Dictionary<string, Result> results)
    {
        return served == null || served == Digest(results);
    }

    /// <summary>Reads a walk to its end, applies it, and stores results and then checkpoint; null where nothing has changed.</summary>
    private Dictionary<string, Result> Walk(Dictionary<string, Result> results, string since, string etag)
    {
        var reply = Get("?limit=500" + (since == null ? "" : "&since=" + since), etag);
        if (since != null) RefuseRestored(reply, since);
        if (reply.Page == null) return null;
        // Of the first page: what changes while the walk is on its way comes with the next one.
        var checkpoint = new[] { reply.Since, reply.ETag };
        while (true)
        {
            foreach (var entry in reply.Page.Element("data").Elements())
            {
                var id = (string)entry.Element("assessment_id");
                // Tombstones say that a result was withdrawn, scope exits that it left a filter by group.
                if ((string)entry.Element("status") == "completed")
                    results[id] = new Result { UpdatedAt = (string)entry.Element("updated_at"), Line = Json(entry) };
                else
                    results.Remove(id);
            }
            var next = reply.Page.Element("pagination").Element("next");
            if ((string)next.Attribute("type") == "null") break;
            // Only the query is taken, so that the key pair never goes to another host.
            reply = Get(new Uri((string)next).Query, null);
            RefuseRestored(reply, checkpoint[0]);
        }
        served = reply.Digest;
        Replace(file, results.Values.Select(result => result.Line));
        Replace(checkpointFile, checkpoint);
        return results;
    }

    /// <summary>Refuses a reply of a service that was restored to before the instant that a walk, or its checkpoint, began with.</summary>
    private static void RefuseRestored(Reply reply, string start)
    {
        if (string.CompareOrdinal(reply.RestoredAt ?? "", start) > 0 || string.CompareOrdinal(reply.Since ?? start, start) < 0)
            throw new Restored();
    }

    /// <summary>Asks for a page. What may pass is asked again, never before Retry-After is over.</summary>
    private Reply Get(string query, string etag)
    {
        for (var attempt = 0; attempt < Attempts; attempt++)
        {
            var wait = Math.Min(20, Math.Pow(2, attempt) / 2) * (0.5 + random.NextDouble() / 2);
            try
            {
                var request = new HttpRequestMessage(HttpMethod.Get, api + "/assessments" + query);
                if (etag != null) request.Headers.TryAddWithoutValidation("If-None-Match", etag);
                using (var answer = http.SendAsync(request).GetAwaiter().GetResult())
                {
                    var status = (int)answer.StatusCode;
                    var read = new Reply
                    {
                        Since = Header(answer, "X-Sync-Through"),
                        ETag = Header(answer, "ETag"),
                        Digest = Header(answer, "X-Sync-Digest"),
                        RestoredAt = Header(answer, "X-Sync-Restored"),
                    };
                    if (status == 304) return read;
                    var body = answer.Content.ReadAsByteArrayAsync().GetAwaiter().GetResult();
                    if (status == 200)
                    {
                        read.Page = Parse(body);
                        return read;
                    }
                    if (status == 400 && Encoding.UTF8.GetString(body).Contains("\"invalid_cursor\"")) throw new Restored();
                    if (!Passing.Contains(status))
                        throw new InvalidOperationException(
                            "refused: " + status + " " + Encoding.UTF8.GetString(body) + " (request " + Header(answer, "X-Request-Id") + ")");
                    // 0 where a proxy says it as a date.
                    int told;
                    int.TryParse(Header(answer, "Retry-After"), out told);
                    wait = Math.Max(wait, told);
                }
            }
            catch (Exception passing) when (passing is HttpRequestException || passing is IOException || passing is OperationCanceledException || passing is XmlException)
            {
                // The connection ended, or the reply was cut off.
            }
            Thread.Sleep((int)(wait * 1000));
        }
        throw new InvalidOperationException("the service does not answer; nothing is lost, the next run goes on");
    }

    private static string Header(HttpResponseMessage answer, string name)
    {
        IEnumerable<string> values;
        return answer.Headers.TryGetValues(name, out values) ? values.First() : null;
    }

    /// <summary>How many results there are, and the sums of two words of SHA-256(id, updated_at in milliseconds).</summary>
    private static string Digest(Dictionary<string, Result> results)
    {
        uint one = 0, two = 0;
        using (var sha256 = SHA256.Create())
        {
            foreach (var entry in results)
            {
                var hex = entry.Key.Replace("-", "");
                var bytes = new byte[24];
                for (var i = 0; i < 16; i++) bytes[i] = Convert.ToByte(hex.Substring(2 * i, 2), 16);
                var millis = DateTimeOffset.Parse(entry.Value.UpdatedAt, System.Globalization.CultureInfo.InvariantCulture).ToUnixTimeMilliseconds();
                for (var i = 0; i < 8; i++) bytes[16 + i] = (byte)(millis >> (56 - 8 * i));
                var hash = sha256.ComputeHash(bytes);
                one = unchecked(one + Word(hash, 0));
                two = unchecked(two + Word(hash, 4));
            }
        }
        return "n=" + results.Count + ";w1=" + one + ";w2=" + two;
    }

    private static uint Word(byte[] hash, int at)
    {
        return (uint)hash[at] << 24 | (uint)hash[at + 1] << 16 | (uint)hash[at + 2] << 8 | hash[at + 3];
    }

    private Dictionary<string, Result> Read()
    {
        return File.ReadAllLines(file)
            .Select(line => new { Line = line, Record = Parse(Encoding.UTF8.GetBytes(line)) })
            .ToDictionary(
                held => (string)held.Record.Element("assessment_id"),
                held => new Result { UpdatedAt = (string)held.Record.Element("updated_at"), Line = held.Line });
    }

    // In a project of your own System.Text.Json does both; these two do without it, and so run wherever .NET does.
    private static XElement Parse(byte[] json)
    {
        using (var reader = JsonReaderWriterFactory.CreateJsonReader(json, XmlDictionaryReaderQuotas.Max)) return XElement.Load(reader);
    }

    private static string Json(XElement entry)
    {
        var root = new XElement("root", entry.Attributes(), entry.Nodes());
        foreach (var none in root.Descendants().Where(one => (string)one.Attribute("type") == "null")) none.RemoveNodes();
        using (var stream = new MemoryStream())
        {
            using (var writer = JsonReaderWriterFactory.CreateJsonWriter(stream, Encoding.UTF8, false)) root.WriteTo(writer);
            return Encoding.UTF8.GetString(stream.ToArray());
        }
    }

    /// <summary>The new file stands on the disk before it takes the place of the old one.</summary>
    private static void Replace(string path, IEnumerable<string> lines)
    {
        var beside = path + ".new";
        using (var stream = new FileStream(beside, FileMode.Create))
        {
            var bytes = Encoding.UTF8.GetBytes(string.Concat(lines.Select(line => line + "\n")));
            stream.Write(bytes, 0, bytes.Length);
            stream.Flush(true);
        }
        if (File.Exists(path)) File.Replace(beside, path, null);
        else File.Move(beside, path);
    }

    private static string Variable(string name)
    {
        var value = Environment.GetEnvironmentVariable(name);
        if (string.IsNullOrEmpty(value)) throw new InvalidOperationException("the environment must hold " + name);
        return value;
    }
}
