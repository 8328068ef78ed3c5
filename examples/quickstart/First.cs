using System;
using System.Net.Http;
using System.Runtime.Serialization.Json;
using System.Text;
using System.Xml;
using System.Xml.Linq;

/// <summary>
/// Prints the level and the learner reference of 10 results.
///   API=http://127.0.0.1:8080/api/v1 ACCESS_KEY_ID=… SECRET_ACCESS_KEY=… dotnet run First.cs
/// </summary>
public static class First
{
    public static int Main()
    {
        // The access key must not follow a redirect to another host.
        using (var http = new HttpClient(new HttpClientHandler { AllowAutoRedirect = false }))
        {
            http.DefaultRequestHeaders.Add("X-Access-Key-Id", Environment.GetEnvironmentVariable("ACCESS_KEY_ID"));
            http.DefaultRequestHeaders.Add("X-Secret-Access-Key", Environment.GetEnvironmentVariable("SECRET_ACCESS_KEY"));
            var url = Environment.GetEnvironmentVariable("API") + "/assessments?limit=10&status=completed";
            var response = http.GetAsync(url).GetAwaiter().GetResult();
            var body = response.Content.ReadAsByteArrayAsync().GetAwaiter().GetResult();
            if (!response.IsSuccessStatusCode)
            {
                Console.Error.WriteLine(Encoding.UTF8.GetString(body));
                return 1;
            }
            foreach (var result in Parse(body).Element("data").Elements())
                Console.WriteLine(TextOf(result.Element("rqf_level")) + " " + TextOf(result.Element("learner").Element("ref")));
            return 0;
        }
    }

    private static string TextOf(XElement value)
    {
        return (string)value.Attribute("type") == "null" ? "-" : value.Value;
    }

    // In a project of yours, use System.Text.Json. This reader also exists in older versions of .NET.
    private static XElement Parse(byte[] json)
    {
        using (var reader = JsonReaderWriterFactory.CreateJsonReader(json, XmlDictionaryReaderQuotas.Max)) return XElement.Load(reader);
    }
}
