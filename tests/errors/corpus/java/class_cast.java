public class Main {
    public static void main(String[] args) {
        Object o = "a";
        Integer i = (Integer) o;
    }
}
